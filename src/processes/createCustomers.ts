import { createCustomer } from "#src/commands/billing/customers.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { PaymentProcessor } from "#src/platform/payments/paymentProcessor.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { askProcessor } from "./askProcessor.ts";
import type { Process, ProcessContext } from "./process.ts";

/**
 * Creates a customer at the payment processor for each workspace, and a new one if the customer was deleted there. Runs only if a processor
 * is configured. Starts at the beginning of the log, so that existing workspaces get a customer too.
 */
export function createCustomers(deps: Dependencies, payments: PaymentProcessor): Process {
  const create = (event: Recorded, context: ProcessContext) => {
    const workspaceId = idOf(event.stream);
    const cause = { ...context.cause, workspaceId };
    return askProcessor(deps, context, () => createCustomer(deps, { workspaceId, payments }, cause));
  };

  return {
    name: "createCustomers",
    categories: ["workspace", "billing"],
    keyOf: (event) => idOf(event.stream),
    on: { WorkspaceCreated: create, CustomerLost: create },
    looksAt: "key",
    concurrency,
    givingUp: "never",
  };
}

/**
 * Number of concurrent lanes. It is small because configuring a processor triggers all workspaces at once, and the processor limits
 * requests per second.
 */
const concurrency = 4;
