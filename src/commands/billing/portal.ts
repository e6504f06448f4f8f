import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { callProcessor } from "./callProcessor.ts";
import { callAboutCustomer, customerMissing } from "./checkout.ts";
import { loadPayer } from "./customers.ts";

/** Opens the payment processor's page for plan, payment method and invoices. Throws Rejected stripe_customer_missing, stripe_error. */
export const openPortal = (deps: Dependencies, workspaceId: string, cause: Cause): Promise<{ url: string }> =>
  callProcessor(deps, async (payments) => {
    const { customerId } = await loadPayer(deps, workspaceId);
    if (customerId === null) throw customerMissing();
    const ask = () => payments.portal({ customerId, returnUrl: `${deps.settings.publicUrl}/billing` });
    return callAboutCustomer(deps, { workspaceId, payments, customerId, ask }, cause);
  });
