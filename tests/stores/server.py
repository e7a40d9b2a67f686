"""An S3 server on loopback for the tests of object stores.

Prints its port. Then, for each line on standard input: "age" makes everything that it holds two days older, "puts" prints the
keys of all objects; each is answered with a line. Ends with standard input.
"""

import datetime
import logging
import sys

from moto.backends import get_backend
from moto.server import ThreadedMotoServer

logging.getLogger("werkzeug").setLevel(logging.ERROR)


def buckets():
    for region in get_backend("s3").values():
        for backend in region.values():
            yield from backend.buckets.values()


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    print(port, flush=True)
    for line in sys.stdin:
        if line.strip() == "age":
            for bucket in buckets():
                for _, key in bucket.keys.items():
                    key.last_modified = key.last_modified - datetime.timedelta(days=2)
        print("done", flush=True)
    server.stop()


main()
