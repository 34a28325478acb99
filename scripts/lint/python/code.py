"""Collect all rules that check code."""

from scripts.lint.rules.job import JOB_RULES
from scripts.lint.rules.mode import MODE_RULES
from scripts.lint.rules.operator import OPERATOR_RULES
from scripts.lint.rules.rule import Rule
from scripts.lint.rules.setting import SETTING_RULES
from scripts.lint.rules.source import SOURCE_RULES
from scripts.lint.rules.state import STATE_RULES
from scripts.lint.rules.trigger import TRIGGER_RULES
from scripts.lint.rules.writer import WRITER_RULES

CODE_RULES: list[Rule] = [
    *TRIGGER_RULES,
    *WRITER_RULES,
    *SOURCE_RULES,
    *OPERATOR_RULES,
    *STATE_RULES,
    *SETTING_RULES,
    *MODE_RULES,
    *JOB_RULES,
]
