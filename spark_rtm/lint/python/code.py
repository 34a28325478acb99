"""Collect all rules that check code."""

from spark_rtm.lint.rules.job import JOB_RULES
from spark_rtm.lint.rules.mode import MODE_RULES
from spark_rtm.lint.rules.operator import OPERATOR_RULES
from spark_rtm.lint.rules.rule import Rule
from spark_rtm.lint.rules.setting import SETTING_RULES
from spark_rtm.lint.rules.source import SOURCE_RULES
from spark_rtm.lint.rules.state import STATE_RULES
from spark_rtm.lint.rules.trigger import TRIGGER_RULES
from spark_rtm.lint.rules.writer import WRITER_RULES

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
