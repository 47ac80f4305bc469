"""Rows: what is graded, and the files it comes from and goes to. Standard library only; knows no model."""

from smile_lite.rows.columns import rows_from_columns
from smile_lite.rows.fields import FIELD_ALIASES, BadRow, FieldMap, Row, row_from_mapping
from smile_lite.rows.join import join_predictions
from smile_lite.rows.readers import FORMATS, ReadOptions, display_name, has_known_ending, read_rows
from smile_lite.rows.writers import atomic_text_writer, json_line, part_of, resumable_text_writer

__all__ = [
    "FIELD_ALIASES",
    "FORMATS",
    "BadRow",
    "FieldMap",
    "ReadOptions",
    "Row",
    "atomic_text_writer",
    "display_name",
    "has_known_ending",
    "join_predictions",
    "json_line",
    "part_of",
    "read_rows",
    "resumable_text_writer",
    "row_from_mapping",
    "rows_from_columns",
]
