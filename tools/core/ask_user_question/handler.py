"""AskUserQuestion: puts questions to the person, in the best way there is, and says what was answered.

The ways, best first: the client's own forms; a popup in tmux; a dialog on the terminal; the model, which gets the
questions as text. Never waits for a person who cannot see the question, and for nobody longer than ASK_WAIT_S.
"""

from __future__ import annotations

from scorpio.tool import text
from tools.core.ask_user_question import by_form
from tools.core.ask_user_question.answers import laid_out
from tools.core.ask_user_question.questions import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.core._catalog import AskUserQuestionArguments
    from tools.core.state import CoreState


async def handle(arguments: AskUserQuestionArguments, call: Call[CoreState]) -> ToolResult:
    questions = parse(arguments["questions_json"], call.name)
    call.activity = "waiting for the user to answer"
    if call.supports("elicitation"):
        said = by_form.ask(questions, call)  # code above this line runs again with the answer
        if said is not None:
            return text(said)
    if call.local and call.settings.ask_tty != "off":
        said = await call.state.dialogs.ask(questions, anyway=call.settings.ask_tty == "on")
        if said is not None:
            return text(said)
    return text(laid_out(questions), is_error=True)
