"""`fimjax train` and train.py: a config file, overrides of its settings, and where to run."""

import argparse
import dataclasses
import math
import os
import runpy
import sys
from pathlib import Path
from typing import Annotated

import jax
import tyro

from fimjax.config import Config, FIMConfig
from fimjax.errors import CheckpointError, ConfigError
from fimjax.training.loop import TrainingDiverged, train
from fimjax.training.parallel import use_cpu_devices
from fimjax.training.picture import draw_run

TERMINATED = 143
"""Exit code of a run that a signal stopped: 128 + SIGTERM, as shells and schedulers expect."""


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Train a model on synthetic series, drawn on the device. Every setting of the config can be overridden."""

    config: Path
    """Python file whose get_config() returns the settings to start from (see configs/)."""
    run: Path
    """Folder for checkpoints, metrics, config and picture."""
    settings: Annotated[Config, tyro.conf.arg(name="")]
    local: Path | None = None
    """Run of a pretrained FIM-l, for FIM."""
    begin_from: str | None = None
    """Start from the parameters of the same model: a run, a folder of weights or the name of bundled weights."""
    resume: bool = False
    """Continue from the latest checkpoint in the run's folder, if there is one."""
    picture: bool = True
    """Draw the trained model's predictions on a few validation series (needs matplotlib)."""
    cpu_devices: int = 0
    """XLA devices on a CPU host: -1 for one per core, as far as they can share a batch evenly; 0 for a single one."""
    compile_cache: Path | None = None
    """Folder that caches compiled programs between runs."""
    distributed: bool = False
    """Train on several hosts, found in the cluster's environment (Slurm, Open MPI, TPU pods)."""
    coordinator: str | None = None
    """Train on several hosts without a cluster manager: address of process 0, as host:port."""
    processes: int | None = None
    """Number of processes, with --coordinator."""
    process: int | None = None
    """Number of this process, from 0, with --coordinator."""


def load_config(path: Path) -> Config:
    """The settings that a config file returns."""
    if not path.is_file():
        raise ConfigError(f"config: {path} is not a file")
    sys.path.insert(0, os.getcwd())  # config files import each other as configs.NAME
    try:
        get_config = runpy.run_path(str(path)).get("get_config")
        if get_config is None:
            raise ConfigError(f"config: {path} has no get_config()")
        config = get_config()
    except ConfigError:
        raise
    except Exception as error:  # a config file is a program, which may fail in any way
        raise ConfigError(f"config: {path} cannot be run ({type(error).__name__}: {error})") from error
    finally:
        sys.path.remove(os.getcwd())
    if not isinstance(config, Config):
        raise ConfigError(f"config: get_config() of {path} returned {type(config).__name__}, not Config")
    return config


def parse(argv: list[str], prog: str = "fimjax train") -> Arguments:
    """Reads the config file first, then the overrides, because the file determines which settings there are."""
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--config", type=Path)
    path = first.parse_known_args(argv)[0].config
    if path is not None:
        default = Arguments(config=path, run=Path("runs") / path.stem, settings=load_config(path))
    elif {"-h", "--help"} & set(argv):
        # The settings of the shipped model, to show what there is.
        default = Arguments(config=Path("FILE"), run=Path("runs/NAME"), settings=Config(FIMConfig()))
    else:
        raise ConfigError("config: give --config FILE, such as configs/tiny_fim_local.py")
    return tyro.cli(tyro.conf.AvoidSubcommands[Arguments], prog=prog, args=argv, default=default)


def usable_cores(config: Config, cores: int) -> int:
    """As many of the cores as can share the training batch and the validation set evenly."""
    group, training = config.prior.group_size, config.training
    groups = math.gcd(training.batch_size // group, training.validation_series // group)
    return max(n for n in range(1, cores + 1) if groups % n == 0)


def start_devices(arguments: Arguments) -> None:
    """Applies the settings that JAX accepts only before its first use."""
    if arguments.cpu_devices:
        cores = usable_cores(arguments.settings, os.cpu_count() or 1)
        use_cpu_devices(cores if arguments.cpu_devices < 0 else arguments.cpu_devices)
    if arguments.compile_cache:
        jax.config.update("jax_compilation_cache_dir", str(arguments.compile_cache.absolute()))
    if arguments.coordinator:
        if arguments.processes is None or arguments.process is None:
            raise ConfigError("coordinator: --processes and --process are needed with it")
        jax.distributed.initialize(arguments.coordinator, arguments.processes, arguments.process)
    elif arguments.distributed:
        jax.distributed.initialize()


def main(argv: list[str] | None = None, prog: str = "fimjax train") -> int:
    """Runs a training; returns the exit code."""
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv, prog)
        start_devices(arguments)
        outcome = train(
            arguments.settings,
            arguments.run,
            local_run=arguments.local,
            begin_from=arguments.begin_from,
            resume=arguments.resume,
        )
    except (ConfigError, CheckpointError) as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{prog}: {error.filename}: {error.strerror}" if error.filename else f"{prog}: {error}", file=sys.stderr)
        return 2
    except TrainingDiverged as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 1
    if jax.process_index() == 0:
        if outcome.stopped:
            print(f"stopped by a signal at step {outcome.step}, saved in {arguments.run}; continue with --resume")
        else:
            print(f"{arguments.run}: {outcome.summary}")
            if arguments.picture:
                print(f"{arguments.run}: {draw_run(arguments.run)}")
    return TERMINATED if outcome.stopped else 0
