"""Compiled programs, kept between processes."""

import jax

from fimjax.files import user_cache


def use_compile_cache() -> None:
    """Keeps what JAX compiles in the user's cache, unless JAX was told another place or told not to."""
    if jax.config.jax_compilation_cache_dir is not None or not jax.config.jax_enable_compilation_cache:
        return
    jax.config.update("jax_compilation_cache_dir", str(user_cache() / "programs"))
    # Ours take a second or two each, and there are few: all are worth keeping.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
