"""The package that unmodified scripts import as `ais_bench`; modules that are not here come from an installed one."""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
