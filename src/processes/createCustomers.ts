import { createCustomer } from "#src/commands/billing/customers.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { PaymentProcessor } from "#src/platform/payments/paymentProcessor.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { askProcessor } from "./askProcessor.ts";
import type { Process, ProcessContext } from "./process.ts";

/**
 * Each workspace has a customer at the payment processor, and another one when that was deleted. The process is there where a processor is set
 * up, and begins with the log: so earlier workspaces come too.
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

/** All workspaces come at once when a processor is set up, and it takes only so many requests in a second. */
const concurrency = 4;
