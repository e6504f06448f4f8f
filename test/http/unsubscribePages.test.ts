import { expect } from "chai";
import * as pages from "#src/http/unsubscribePages/pages.ts";
import { stopLink } from "./approvalPages/examples.ts";

describe("the unsubscribe pages", () => {
  it("a workspace's name with quotes cannot break out of the quotes around it on the unsubscribe pages", () => {
    const workspaceName = "Harbour”. Your mailbox is full: call “+46 31 123";
    for (const stopped of [true, false]) {
      const link = { ...stopLink, workspaceName, stopped };
      for (const page of [pages.unsubscribePage(link, { nonce: "n" }), pages.changedPage(link, "n")]) {
        expect(page).to.include("“Harbour&#39;. Your mailbox is full: call &#39;+46 31 123”");
        expect(page.match(/[“”]/g)).to.have.length(2);
      }
    }
  });
});
