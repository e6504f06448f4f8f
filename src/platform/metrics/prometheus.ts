import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { createSingleFlight } from "#src/platform/singleFlight.ts";
import { type Measure, type Metrics, measures, type QueueDepths } from "./metrics.ts";

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Outcomes of a delivery, by the event that records each. */
const deliveryOutcomes: Record<string, string> = {
  DeliveryAccepted: "accepted",
  DeliveryRefused: "refused",
  DeliveryNotHandedOver: "not_handed_over",
  DeliveryUnknown: "unknown",
  DeliveryDelivered: "delivered",
  DeliveryDropped: "dropped",
  DeliveryBounced: "bounced",
  DeliveryComplained: "complained",
};

export type MetricSources = {
  /** Reads the depths. If it rejects, its gauges are left out until it works again. */
  depths: () => Promise<QueueDepths>;
  /** Returns the memory used by cached states, in bytes. */
  stateBytes: () => number;
};

/** Exports metrics in Prometheus's text format. */
export function prometheusMetrics({ depths, stateBytes }: MetricSources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const requests = new Histogram({ ...shown(measures.requests), buckets, registers });
  const httpRefused = new Counter({ ...shown(measures.httpRefused), registers });
  const appends = new Histogram({ ...shown(measures.appends), buckets, registers });
  const events = new Counter({ ...shown(measures.events), registers });
  const deliveries = new Counter({ ...shown(measures.deliveries), registers });
  const mailRefused = new Counter({ ...shown(measures.mailRefused), registers });
  const quarantined = new Counter({ ...shown(measures.mailQuarantined), registers });
  const mailWithheld = new Counter({ ...shown(measures.mailWithheld), registers });
  const showDepths = depthGauges(registers);
  const states = new Gauge({ ...shown(measures.stateBytes), registers });
  const lookUps = createSingleFlight<void>();

  /** Concurrent requests share one query of the database: this endpoint needs no key. */
  const lookUpDepths = (): Promise<void> =>
    lookUps.run("depths", () =>
      depths()
        .catch(() => undefined)
        .then(showDepths),
    );

  return {
    answered: ({ method, route, status }, seconds) => requests.observe({ method, route, status }, seconds),
    httpRefused: (reason) => httpRefused.inc({ reason }),
    appended({ outcome, types }, seconds) {
      appends.observe({ outcome }, seconds);
      if (outcome !== "done") return;
      for (const type of types) {
        events.inc({ type });
        const delivered = deliveryOutcomes[type];
        if (type === "MailQuarantined") quarantined.inc();
        if (delivered !== undefined) deliveries.inc({ outcome: delivered });
      }
    },
    mailLost: () => quarantined.inc(),
    mailRefused: (reason) => mailRefused.inc({ reason }),
    mailWithheld: (kind, reason) => mailWithheld.inc({ kind, reason }),
    async shown() {
      await lookUpDepths();
      states.set(stateBytes());
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

const shown = ({ name, help, labels }: Measure) => ({ name, help, labelNames: [...labels] });

/** Resets and sets every gauge, so that a label that is gone, or unknown now, is not exported with its old value. */
function depthGauges(registers: Registry[]): (depths: QueueDepths | undefined) => void {
  const gauge = (measure: Measure) => new Gauge({ ...shown(measure), registers });
  const by = (measure: Measure) => [measure.labels[0] as string, gauge(measure)] as const;
  const gauges = {
    projectionLag: by(measures.projectionLag),
    projectionLeft: by(measures.projectionLeft),
    processLag: by(measures.processLag),
    timersDue: by(measures.timersDue),
    lanesReady: by(measures.lanesReady),
    oldestReadySeconds: by(measures.oldestReadySeconds),
    lanesRunning: by(measures.lanesRunning),
    lanesSetAside: by(measures.lanesSetAside),
    parked: by(measures.parked),
  };
  const sending = gauge(measures.draftsSending);
  const pending = gauge(measures.draftsPending);
  const oldestPending = gauge(measures.oldestPendingSeconds);
  const webhooks = gauge(measures.webhookDeliveriesPending);
  const paused = gauge(measures.paused);
  return (depths) => {
    for (const [name, [label, gauge]] of Object.entries(gauges)) {
      gauge.reset();
      for (const [value, depth] of depths?.[name as keyof typeof gauges] ?? []) gauge.set({ [label]: value }, depth);
    }
    if (!depths) {
      for (const gauge of [sending, pending, oldestPending, webhooks, paused]) gauge.remove();
      return;
    }
    sending.set(depths.draftsSending);
    pending.set(depths.draftsPending);
    oldestPending.set(depths.oldestPendingSeconds);
    webhooks.set(depths.webhookDeliveriesPending);
    paused.set(Number(depths.paused));
  };
}
