# pyarrow is untyped and makes its functions at run time: a type checker sees Any.
from typing import Any

def __getattr__(name: str) -> Any: ...
