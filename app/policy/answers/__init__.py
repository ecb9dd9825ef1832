"""The answer family: what does a worker answer, and what is a result?"""

from typing import Annotated

from pydantic import Field

from app.policy.answers.base import AnswerKind, Content, Said, WrongContent
from app.policy.answers.choice_answer import ChoiceAnswer
from app.policy.answers.choices_answer import ChoicesAnswer
from app.policy.answers.number_answer import NumberAnswer
from app.policy.answers.ordinal_answer import OrdinalAnswer

AnyAnswer = Annotated[ChoiceAnswer | ChoicesAnswer | OrdinalAnswer | NumberAnswer, Field(discriminator="kind")]
OneLabelAnswer = Annotated[ChoiceAnswer | OrdinalAnswer, Field(discriminator="kind")]  # of which there are forecasts

CHOICE: AnyAnswer = ChoiceAnswer()  # what a job takes that says nothing else

__all__ = [
    "CHOICE",
    "AnswerKind",
    "AnyAnswer",
    "ChoiceAnswer",
    "ChoicesAnswer",
    "Content",
    "NumberAnswer",
    "OneLabelAnswer",
    "OrdinalAnswer",
    "Said",
    "WrongContent",
]
