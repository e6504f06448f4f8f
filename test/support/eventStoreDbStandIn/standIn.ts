import { GossipService } from "@eventstore/db-client/generated/gossip_grpc_pb.js";
import gossip from "@eventstore/db-client/generated/gossip_pb.js";
import { ServerFeaturesService } from "@eventstore/db-client/generated/serverfeatures_grpc_pb.js";
import features from "@eventstore/db-client/generated/serverfeatures_pb.js";
import shared from "@eventstore/db-client/generated/shared_pb.js";
import { StreamsService } from "@eventstore/db-client/generated/streams_grpc_pb.js";
import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import { foreignEvent, RecordLog } from "./log.ts";
import { StreamsCalls } from "./streamsCalls.ts";

/**
 * A stand-in for EventStoreDB: the same protocol on a real socket, the same answers, and on demand every fault seen in the real one.
 * Reads, unary appends and subscriptions to the whole log; nothing else is implemented.
 */
export class EventStoreDbStandIn {
  readonly calls = new StreamsCalls(new RecordLog());
  #server: Server | undefined;
  #port = 0;

  get log(): RecordLog {
    return this.calls.log;
  }

  get url(): string {
    return `esdb://127.0.0.1:${this.#port}?tls=false`;
  }

  /** Listens on a free port the first time, and on the same one later. */
  async start(): Promise<this> {
    const server = new Server();
    server.addService(StreamsService, this.calls.service());
    server.addService(GossipService, { read: (_: unknown, answer: Answer) => answer(null, this.#clusterInfo()) });
    server.addService(ServerFeaturesService, {
      getSupportedMethods: (_: unknown, answer: Answer) => answer(null, supportedMethods()),
    });
    this.#port = await new Promise<number>((resolve, reject) =>
      server.bindAsync(`127.0.0.1:${this.#port}`, ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      ),
    );
    this.#server = server;
    return this;
  }

  /** Cuts every connection and stops listening until it is started again. The data stay. */
  stop(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }

  async restart(): Promise<void> {
    this.stop();
    await this.start();
  }

  /** Writes to the log as another application. */
  writeForeign(count: number, stream = "somebodyElse-1"): void {
    for (let n = 0; n < count; n++) this.log.write(stream, [foreignEvent()]);
  }

  /** Empties the log, which starts again at lower positions, while connections and subscriptions stay. */
  wipe(): void {
    this.calls.replaceLog(new RecordLog(3));
  }

  /** Ends every subscription, like a server that resigns or restarts. */
  dropSubscriptions(code: status = status.UNAVAILABLE): void {
    for (const subscription of this.calls.subscriptions) subscription.end(code, "the server dropped it");
  }

  /** Makes the current subscriptions silent without ending them. */
  stallSubscriptions(): void {
    for (const subscription of this.calls.subscriptions) subscription.stalled = true;
  }

  #clusterInfo(): gossip.ClusterInfo {
    const leader = new gossip.MemberInfo()
      .setInstanceId(new shared.UUID().setString(crypto.randomUUID()))
      .setState(gossip.MemberInfo.VNodeState.LEADER)
      .setIsAlive(true)
      .setHttpEndPoint(new gossip.EndPoint().setAddress("127.0.0.1").setPort(this.#port));
    return new gossip.ClusterInfo().setMembersList([leader]);
  }
}

type Answer = (error: null, message: unknown) => void;

function supportedMethods(): features.SupportedMethods {
  const methods = ["read", "append", "batchappend"].map((name) =>
    new features.SupportedMethod().setServiceName("event_store.client.streams.streams").setMethodName(name),
  );
  return new features.SupportedMethods().setMethodsList(methods).setEventStoreServerVersion("23.10.1");
}
