import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Depths, Metrics } from "./metrics.ts";

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The outcomes of a delivery, by the event that tells of one. */
const deliveryOutcomes: Record<string, string> = {
  DeliveryAccepted: "accepted",
  DeliveryRefused: "refused",
  DeliveryNotHandedOver: "not_handed_over",
  DeliveryUnknown: "unknown",
  DeliveryDelivered: "delivered",
  DeliveryBounced: "bounced",
  DeliveryComplained: "complained",
};

/** In Prometheus's text format. `depths` may fail: then its gauges are left out until it works again. */
export function prometheusMetrics(depths: () => Promise<Depths>): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const requests = new Histogram({
    name: "countersign_http_request_duration_seconds",
    help: "Requests by method, route and status, and how long they took.",
    labelNames: ["method", "route", "status"],
    ...{ buckets, registers },
  });
  const appends = new Histogram({
    name: "countersign_append_duration_seconds",
    help: "Appends to the event log by outcome, and how long they took.",
    labelNames: ["outcome"],
    ...{ buckets, registers },
  });
  const events = new Counter({
    name: "countersign_events_appended_total",
    help: "Events this instance appended, by type.",
    labelNames: ["type"],
    registers,
  });
  const deliveries = new Counter({
    name: "countersign_deliveries_total",
    help: "What became of mail that was handed over, as this instance recorded it, by outcome.",
    labelNames: ["outcome"],
    registers,
  });
  const showDepths = depthGauges(registers);
  let looking: Promise<void> | undefined;

  /** However many ask at once, the database is asked once: nobody needs a key for this. */
  function lookUpDepths(): Promise<void> {
    looking ??= depths()
      .catch(() => undefined)
      .then(showDepths)
      .finally(() => {
        looking = undefined;
      });
    return looking;
  }

  return {
    answered: ({ method, route, status }, seconds) => requests.observe({ method, route, status }, seconds),
    appended({ outcome, types }, seconds) {
      appends.observe({ outcome }, seconds);
      if (outcome !== "done") return;
      for (const type of types) {
        events.inc({ type });
        const delivered = deliveryOutcomes[type];
        if (delivered !== undefined) deliveries.inc({ outcome: delivered });
      }
    },
    async shown() {
      await lookUpDepths();
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

/** Sets every gauge anew, so that what is gone, or cannot be known now, is not shown as it was. */
function depthGauges(registers: Registry[]): (depths: Depths | undefined) => void {
  const by = (label: string, name: string, help: string) =>
    [label, new Gauge({ name: `countersign_${name}`, help, labelNames: [label], registers })] as const;
  const gauges = {
    projectionLag: by("projection", "projection_lag", "Log positions that a read model is behind."),
    processLag: by("process", "process_lag", "Log positions up to which a process has not handled everything."),
    timersDue: by("process", "timers_due", "Timers that are due and not handled."),
    parked: by("process", "parked", "Events and timers that a process gave up on."),
  };
  const alone = (name: string, help: string) => new Gauge({ name: `countersign_${name}`, help, registers });
  const sending = alone("drafts_sending", "Drafts queued for delivery or on their way.");
  const webhooks = alone("webhook_deliveries_pending", "Events that webhooks have not been told yet.");
  return (depths) => {
    for (const [name, [label, gauge]] of Object.entries(gauges)) {
      gauge.reset();
      for (const [value, depth] of depths?.[name as keyof typeof gauges] ?? []) gauge.set({ [label]: value }, depth);
    }
    if (!depths) return [sending, webhooks].forEach((gauge) => void gauge.remove());
    sending.set(depths.draftsSending);
    webhooks.set(depths.webhookDeliveriesPending);
  };
}
