"""Text in bytes and back: base64, hexadecimal, packed structures, checksums."""
import base64
import binascii
import struct
import zlib


def fit_and_eval(data):
    packed = struct.pack("<HhIf", 1, -2, 3, 0.5)
    compressed = zlib.compress(b"a" * 1000, 9)
    return {
        "encoded": base64.b64encode(b"hello world").decode(),
        "decoded": base64.b64decode("aGk=").decode(),
        "urlsafe": base64.urlsafe_b64encode(bytes([251, 255])).decode(),
        "b32": base64.b32encode(b"abc").decode(),
        "b85": base64.b85decode(base64.b85encode(b"round trip")).decode(),
        "hex": [binascii.hexlify(b"\x01\xff").decode(), bytes.fromhex("0aff").hex(":")],
        "packed": packed.hex(),
        "unpacked": struct.unpack("<HhIf", packed),
        "size": struct.calcsize("<HhIf"),
        "crc": zlib.crc32(b"hello"),
        "compressed": [len(compressed) < 50, zlib.decompress(compressed) == b"a" * 1000],
        "bytes": int.from_bytes(bytes(data), "big"),
        "array": list(bytearray(b"ab") + b"c"),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'encoded': 'aGVsbG8gd29ybGQ=',
 'decoded': 'hi',
 'urlsafe': '-_8=',
 'b32': 'MFRGG===',
 'b85': 'round trip',
 'hex': ['01ff', '0a:ff'],
 'packed': '0100feff030000000000003f',
 'unpacked': [1, -2, 3, 0.5],
 'size': 12,
 'crc': 907060870,
 'compressed': [True, True],
 'bytes': 4328719365,
 'array': [97, 98, 99]}
