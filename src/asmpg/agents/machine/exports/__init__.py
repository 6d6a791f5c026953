"""A machine written in other languages: C, Python, JSON, DOT, .fsc, ONNX; automata of AALpy."""

from asmpg.agents.machine.exports._aalpy import to_aalpy as to_aalpy
from asmpg.agents.machine.exports._dot import dot_of as dot_of
from asmpg.agents.machine.exports._fsc import read_controller as read_controller
from asmpg.agents.machine.exports._json import read_machine as read_machine
from asmpg.agents.machine.exports._network import network_of as network_of
from asmpg.agents.machine.exports._write import write_machine as write_machine
from asmpg.agents.machine.exports._write import write_network as write_network
