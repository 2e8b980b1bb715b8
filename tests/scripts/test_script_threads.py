"""What a script measures around its threads: the simulated time of the slowest of them, whatever brings the waiter on."""

from __future__ import annotations

import pytest

from tests.scripts.test_pyacl_basics import said

pytestmark = pytest.mark.slow  # many starts of programs

WORK = """
import concurrent.futures as cf, queue, threading, time
def work(seconds):
    acl.rt.set_device(0)
    time.sleep(seconds)  # simulated
    return seconds
def measured(body):
    begun = time.perf_counter()
    body()
    print(f"{time.perf_counter() - begun:.2f}")
"""


def test_join_waits_for_the_slowest_thread_and_not_for_the_sum(start):
    assert said(start, WORK + """
def body():
    threads = [threading.Thread(target=work, args=(n,)) for n in (20, 50, 30)]
    [t.start() for t in threads]; [t.join() for t in threads]
measured(body); measured(body)
""") == ["50.00"] * 2


def test_hybrid_adds_only_the_real_time_of_the_user(start):
    lines = said(start, WORK + """
threads = [threading.Thread(target=work, args=(n,)) for n in (20, 50)]
begun = time.perf_counter()
[t.start() for t in threads]; [t.join() for t in threads]
print(50 <= time.perf_counter() - begun < 55)
""", NPU_CLOCK="hybrid")
    assert lines == ["True"]


def test_a_pool_takes_its_time_from_submission_to_result(start):
    assert said(start, WORK + """
both = threading.Barrier(2)  # two workers for sure: which worker takes a task is decided in real time
def together(seconds):
    both.wait()
    return work(seconds)
def body():
    with cf.ThreadPoolExecutor(2) as pool:
        print(list(pool.map(together, (4, 4))))
measured(body)
def failing():
    def fails():
        work(7); raise KeyError("x")
    with cf.ThreadPoolExecutor(1) as pool:
        try:
            pool.submit(fails).result()
        except KeyError:
            pass
measured(failing)
""") == ["[4, 4]", "4.00", "7.00"]


def test_each_item_of_a_queue_carries_the_time_at_which_it_was_put(start):
    assert said(start, WORK + """
q, back = queue.Queue(), queue.Queue(1)
def producer():
    for n in range(3):
        work(10); q.put(n)
def body():
    t = threading.Thread(target=producer); t.start()
    begun = time.perf_counter()
    for n in range(3):
        q.get(); print(f"{time.perf_counter() - begun:.2f}")
    t.join()
measured(body)
""") == ["10.00", "20.00", "30.00", "30.00"]


def test_events_and_barriers_bring_the_waiter_on(start):
    assert said(start, WORK + """
e, b = threading.Event(), threading.Barrier(2)
def sets():
    work(3); e.set(); work(2); b.wait(); work(100)
t = threading.Thread(target=sets)
begun = time.perf_counter(); t.start()
e.wait(); print(f"{time.perf_counter() - begun:.2f}")
b.wait(); print(f"{time.perf_counter() - begun:.2f}")
print(e.wait(0), f"{time.perf_counter() - begun:.2f}")
t.join(); print(f"{time.perf_counter() - begun:.2f}")
""") == ["3.00", "5.00", "True 5.00", "105.00"]


def test_a_thread_starts_where_its_starter_is_and_not_where_the_others_have_got_to(start):
    assert said(start, WORK + """
far = threading.Thread(target=work, args=(60,)); far.start(); far_done = far.is_alive
while far_done():
    pass
def late():
    acl.rt.set_device(0); print(f"{time.perf_counter() - begun:.2f}")
begun = time.perf_counter()
t = threading.Thread(target=late); t.start(); t.join()
far.join(); print(f"{time.perf_counter() - begun:.2f}")
""") == ["0.00", "60.00"]


def test_sorted_and_stacked_queues_and_their_join(start):
    assert said(start, WORK + """
for kind in (queue.LifoQueue, queue.PriorityQueue):
    q = kind()
    def consumer():
        for _ in range(2):
            work(q.get()); q.task_done()
    begun = time.perf_counter()
    q.put(1); q.put(2)
    t = threading.Thread(target=consumer); t.start()
    q.join(); print(f"{time.perf_counter() - begun:.2f}")
    t.join()
""") == ["3.00", "3.00"]


def test_a_tool_the_script_starts_sleeps_really(start):
    """A child that never calls the stack polls for real things: its time-outs must not run out at once."""
    assert said(start, """
import subprocess, sys
poll = "import time, pathlib\\nfor _ in range(100):\\n  if pathlib.Path('there').exists(): break\\n  time.sleep(0.05)\\nelse: print('gave up')"
child = subprocess.Popen([sys.executable, "-c", poll], stdout=subprocess.PIPE, text=True)
end = subprocess.run([sys.executable, "-c", "import time; time.sleep(0.3); open('there', 'w').close()"])
print(repr(child.communicate()[0]))
""", NPU_CLOCK="hybrid") == ["''"]


def test_machinery_that_waits_for_real_things_has_time_outs_that_end(start):
    """Under the model clock nothing moves the timeline while a pool or an event loop waits."""
    assert said(start, """
import asyncio, multiprocessing as mp
def square(x):
    acl.rt.set_device(0)
    return x * x
async def main():
    await asyncio.sleep(0.05)
    try:
        await asyncio.wait_for(asyncio.sleep(30), 0.05)
    except asyncio.TimeoutError:
        return "timed out"
with mp.Pool(2) as pool:
    print(pool.map(square, [2, 3]))
queue = mp.Queue()
try:
    queue.get(timeout=0.05)
except Exception as error:
    print(type(error).__name__)
print(asyncio.run(main()))
""", NPU_CLOCK="model") == ["[4, 9]", "Empty", "timed out"]


@pytest.mark.parametrize("clock", ["hybrid", "model"])
def test_a_sleeping_poller_lets_the_one_who_sets_its_flag_get_there(start, clock):
    """Two threads of acl.util poll a flag that is cleared at once; the number of a thread that has ended may be used again."""
    assert said(start, """
import threading
going, rounds = True, []
def poll(arguments):
    begun, count = time.time(), 0
    while going and time.time() - begun < 10:
        time.sleep(1)
        acl.rt.process_report(1000)
        count += 1
    rounds.append(count)
import time
acl.rt.set_device(0)
numbers = [acl.util.start_thread(poll, [0])[0] for _ in range(2)]
going = False
print([acl.util.stop_thread(n) for n in numbers], max(rounds) <= 2)
quick = [acl.util.start_thread(lambda given: None, [0])[0] for _ in range(5)]
time.sleep(1)
print([acl.util.stop_thread(n) for n in quick], acl.util.stop_thread(quick[0]))
""", NPU_CLOCK=clock) == ["[0, 0] True", "[0, 0, 0, 0, 0] 3"]
