import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { askProcessor } from "./asking.ts";
import { customerMissing, unlessGone } from "./checkout.ts";
import { payerOf } from "./customers.ts";

/** Opens the payment processor's page for plan, payment method and invoices. Throws Rejected stripe_customer_missing, stripe_error. */
export const openPortal = (deps: Dependencies, workspaceId: string, cause: Cause): Promise<{ url: string }> =>
  askProcessor(deps, async (payments) => {
    const { customerId } = await payerOf(deps, workspaceId);
    if (customerId === null) throw customerMissing();
    const ask = () => payments.portal({ customerId, returnUrl: `${deps.settings.publicUrl}/billing` });
    return unlessGone(deps, { workspaceId, payments, customerId, ask }, cause);
  });
