"""The process that runs the judges. judge.py starts it and, after a crash of a judge, starts it again."""
import json
import os
import resource
import sys

sys.dont_write_bytecode = True

import pixels  # noqa: E402
from pixels import OtherColors  # noqa: E402
import decoders  # noqa: E402

MEMORY = 6 << 30  # bytes of addresses for the judges in process: a header may ask for terabytes

INSTALL = {
    "pillow": "pip install pillow pillow-jxl-plugin", "tifffile": "pip install tifffile imagecodecs",
    "imagecodecs": "pip install imagecodecs", "jpegsof3": "pip install imagecodecs", "psd_tools": "pip install psd-tools",
    "openexr": "pip install OpenEXR", "opencv": "pip install opencv-python-headless", "libtiff": "apt-get install libtiff6",
    "imagemagick": "apt-get install imagemagick",
    "ffmpeg": "apt-get install ffmpeg", "djxl": "apt-get install libjxl-tools", "icotool": "apt-get install icoutils",
    "icns2png": "apt-get install icnsutils", "openjpeg": "apt-get install libopenjp2-tools",
}


def missing(name):
    """Whether a judge is not installed."""
    needs = {"pillow": "PIL", "tifffile": "tifffile", "imagecodecs": "imagecodecs", "jpegsof3": "imagecodecs",
             "psd_tools": "psd_tools", "openexr": "OpenEXR", "opencv": "cv2"}
    tools = {"ffmpeg": "ffmpeg", "djxl": "djxl", "icotool": "icotool", "icns2png": "icns2png", "openjpeg": "opj_decompress"}
    try:
        if name in needs:
            decoders.module(needs[name])
        elif name in tools:
            decoders.program(tools[name])
        elif name == "imagemagick":
            decoders.program("convert-im6.q16", "magick", "convert", version="ImageMagick")
        elif name == "libtiff":
            decoders.tiff_library()
    except (ImportError, OSError):
        return True
    return False


class Server:
    """Answers one question after the other: does a judge read this file, and do its pixels equal ours."""

    def __init__(self):
        self.key, self.ours, self.others = None, None, {}

    def answer(self, question):
        key = (question["file"], question["ours"])
        if key != self.key:
            self.key, self.ours, self.others = key, None, {}
            if question["ours"]:
                with open(question["ours"], "rb") as file:
                    self.ours = pixels.read_plain_tiff(file.read())._replace(linear=question["linear"])
        name = question["judge"]
        try:
            theirs = decoders.JUDGES[name](question["file"], question["format"])
        except OtherColors:
            return {"read": None}
        except ImportError:
            raise
        except Exception as problem:
            return {"read": False, "why": f"{type(problem).__name__}: {problem}"[:160]}
        choices = theirs if isinstance(theirs, list) else [theirs]
        agrees = [other for other, image in self.others.items()
                  if any(self.difference(image, one).verdict in ("equal", "within") for one in choices)]
        self.others[name] = choices[0]
        if self.ours is None:
            return {"read": True, "agrees": agrees}
        differences = [self.difference(self.ours, one) for one in choices]
        rank = ("equal", "within", "differs", "size", "colors")
        best = min(differences, key=lambda one: (rank.index(one.verdict), one.worst))
        return {"read": True if best.verdict != "colors" else None, "agrees": agrees, "verdict": best.verdict,
                "text": str(best), "size": choices[0].size}

    def difference(self, one, other):
        try:
            return pixels.compare(one, other)
        except OtherColors:
            return pixels.Difference("colors")


def serve():
    # Libraries print to both streams: answers take a descriptor of their own.
    answers = os.fdopen(os.dup(1), "w")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    server = Server()
    for line in sys.stdin:
        answers.write(json.dumps(server.answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
