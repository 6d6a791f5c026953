"""Every command as a function, and as what it shows at a terminal."""

from asmpg.commands._command_line import plain_output as plain_output
from asmpg.commands._command_line import read_command as read_command
from asmpg.commands._command_line import shortened as shortened
