"""Protobuf's text form: what it means, and that no text brings more than the one error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu.graph.prototxt import Field, Malformed, Message, parse


def test_every_form_of_a_field():
    found = parse('a: 1, b: 2.5; c { d: "x\\n\'y" e: WORD }  # rest\nf: [1, 2]\ng: < h: true >\n')
    assert found == Message((
        Field("a", 1, 1), Field("b", 2.5, 1), Field("c", Message((Field("d", "x\n'y", 1), Field("e", "WORD", 1))), 1),
        Field("f", 1, 2), Field("f", 2, 2), Field("g", Message((Field("h", True, 3),)), 3)))


@pytest.mark.parametrize("text, line", [("a", 1), ("a:\n\n", 1), ("a {\nb: }", 2), ("\n}", 2), ('a: "open', 1), ("a: [1", 1), ("a: ]", 1),
                                        ("a {" * 200, 1)])
def test_malformed(text, line):
    with pytest.raises(Malformed, match=f"line {line}: "):
        parse(text)


@given(st.text(alphabet="ab1:{}<>[],;#\"'\\\n -.", max_size=60))
def test_any_text_is_a_message_or_malformed(text):
    try:
        assert isinstance(parse(text), Message)
    except Malformed as error:
        assert str(error).startswith("line ")
