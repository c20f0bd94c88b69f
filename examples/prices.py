"""Prices of a shop over gRPC, for grpc.toml: prices.py [ADDRESS PORT [SEEN]].

It needs Python's grpcio (apt install python3-grpcio, or pip install grpcio), and describes itself if
grpcio-reflection is there too. Each answer becomes a line of the file SEEN: method, item and
status."""

import sys
import time
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

try:
    from grpc_reflection.v1alpha import reflection
except ImportError:
    reflection = None

SERVICE = "shop.v1.Prices"
ITEMS = 1000

TYPES = descriptor_pb2.FieldDescriptorProto


def field(message, name, kind):
    number = len(message.field) + 1
    label = TYPES.LABEL_OPTIONAL
    message.field.add(name=name, number=number, type=kind, label=label)


def described():
    """The service's .proto file, as protoc would describe it."""
    file = descriptor_pb2.FileDescriptorProto(
        name="shop/v1/prices.proto", package="shop.v1", syntax="proto3"
    )
    wanted = file.message_type.add(name="Item")
    field(wanted, "name", TYPES.TYPE_STRING)
    field(wanted, "number", TYPES.TYPE_INT64)
    field(wanted, "times", TYPES.TYPE_UINT32)
    price = file.message_type.add(name="Price")
    field(price, "name", TYPES.TYPE_STRING)
    field(price, "cents", TYPES.TYPE_INT64)
    service = file.service.add(name="Prices")
    types = {"input_type": ".shop.v1.Item", "output_type": ".shop.v1.Price"}
    service.method.add(name="Get", **types)
    service.method.add(name="Watch", server_streaming=True, **types)
    return file


class Prices(grpc.GenericRpcHandler):
    """Get answers with a price, Watch with as many as are asked for."""

    def __init__(self, item, price, seen):
        self.item, self.price, self.seen = item, price, seen

    def service(self, call):
        to_method = {f"/{SERVICE}/Get": self.get, f"/{SERVICE}/Watch": self.watch}
        method = to_method.get(call.method)
        if method is None:
            return None
        make = grpc.unary_unary_rpc_method_handler
        if method == self.watch:
            make = grpc.unary_stream_rpc_method_handler
        codec = (self.item.FromString, self.price.SerializeToString)
        return make(method, *codec)

    def priced(self, item, nth=0):
        return self.price(name=item.name, cents=100 + item.number + nth)

    def get(self, item, context):
        time.sleep(0.005)
        self.tell("Get", item, "ok" if item.number < ITEMS else "not_found")
        if item.number >= ITEMS:
            context.abort(grpc.StatusCode.NOT_FOUND, f"no item above {ITEMS - 1}")
        return self.priced(item)

    def watch(self, item, _context):
        for nth in range(item.times):
            time.sleep(0.01)
            yield self.priced(item, nth)
        self.tell("Watch", item, "ok")

    def tell(self, method, item, status):
        if self.seen is not None:
            self.seen.write(f"{method} {item.name} {item.number} {status}\n")
            self.seen.flush()


def message_class(described):
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(described)
    return message_factory.MessageFactory().GetPrototype(described)  # protobuf before 4.22


def main(address="127.0.0.1", port="50051", seen=None):
    pool = descriptor_pool.Default()
    pool.Add(described())
    types = [pool.FindMessageTypeByName(f"shop.v1.{name}") for name in ("Item", "Price")]
    item, price = map(message_class, types)
    seen = open(seen, "a", encoding="utf-8") if seen else None
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=32))
    server.add_generic_rpc_handlers([Prices(item, price, seen)])
    if reflection is not None:
        reflection.enable_server_reflection([SERVICE, reflection.SERVICE_NAME], server)
    at = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    server.add_insecure_port(at)
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main(*sys.argv[1:])
