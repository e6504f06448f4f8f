import type { Dependencies } from "../dependencies.ts";
import { askProcessor } from "./asking.ts";
import type { BillingRecord } from "./billingRecord.ts";
import { customerMissing } from "./checkout.ts";

/** Opens the payment processor's page for plan, payment method and invoices. Throws Rejected stripe_customer_missing, stripe_error. */
export const openPortal = (
  deps: Dependencies & { billing: BillingRecord },
  workspaceId: string,
): Promise<{ url: string }> =>
  askProcessor(deps, async (payments) => {
    const { customerId } = await deps.billing.standing(workspaceId);
    if (customerId === null) throw customerMissing();
    return payments.portal({ customerId, returnUrl: `${deps.settings.publicUrl}/billing` });
  });
