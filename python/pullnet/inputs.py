"""Files that a scenario names and that Rust does not read itself."""


def parquet_as_csv(path: str) -> bytes:
    """Turn a flow list in Parquet into the CSV that scenarios read. Raises `ValueError` in plain words."""
    import polars as pl

    try:
        return pl.read_parquet(path).write_csv().encode()
    except FileNotFoundError:
        raise ValueError("there is no such file") from None
    except IsADirectoryError:
        raise ValueError("it is a folder") from None
    except PermissionError:
        raise ValueError("it may not be read; check its permissions") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"it is not a Parquet file with a flat table: {reason}") from None
