# onnxruntime_plugin.py: a model in ONNX Runtime with the plug-in, as examples/onnxruntime_plugin.c.
#
# usage: python3 onnxruntime_plugin.py PLUGIN MODEL: librmsnorm_onnxruntime.so by its absolute path, and a model of float tensors.
import sys

import numpy
import onnxruntime

plugin, model = sys.argv[1:]
onnxruntime.register_execution_provider_library("rmsnorm", plugin)
devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == "RmsNormExecutionProvider"]
print("device", devices[0].ep_name, "of", devices[0].ep_vendor)
options = onnxruntime.SessionOptions()
options.add_provider_for_devices(devices, {"log": "1"})
session = onnxruntime.InferenceSession(model, options)
print(session.get_providers())
shapes = {i.name: [d if isinstance(d, int) else 1 for d in i.shape] for i in session.get_inputs()}  # open dims are 1
inputs = {name: numpy.arange(numpy.prod(shape), dtype=numpy.float32).reshape(shape) for name, shape in shapes.items()}
print(session.run(None, inputs)[0].ravel()[:5])
