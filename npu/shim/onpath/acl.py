"""The module that unmodified scripts import as `acl`: filled from the facade's function table."""

from npu.acl.install import install

install(__name__)
