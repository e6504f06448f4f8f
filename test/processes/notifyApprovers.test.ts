import { expect } from "chai";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import type { ChannelRequest, Channels } from "#src/channels/channel.ts";
import { approveByPerson, undoApproval } from "#src/commands/drafts/signedInDecisions.ts";
import { StreamMoved } from "#src/eventStore/eventStore.ts";
import { notifyApprovers } from "#src/processes/notifyApprovers.ts";
import type { Timer } from "#src/processes/process.ts";
import type { TimerChange } from "#src/runtime/work/timerChanges.ts";
import type { ApprovalChannel, IdentitySettings } from "#streams/identity/events.ts";
import { fire, tell } from "#test/support/processContext.ts";
import { cause, createSendWorld, identityId, workspaceId } from "./sendWorld.ts";

const minute = 60_000;
const day = 1440 * minute;
const email = (to: string) => ({ type: "email" as const, config: { to } });
const chat = { type: "telegram" as const, config: { bot_token: "1:token", chat_id: "7" } };
const whoIs = ({ config }: ApprovalChannel) => config.to ?? config.chat_id;

/** The process on channels that accept requests, except for the first `failures`. */
async function world(failures = 0) {
  const made = await createSendWorld();
  const changes = {
    approvalChannel: email("first@approvers.example"),
    secondaryApprovalChannel: email("second@approvers.example"),
    escalationDelayMinutes: 30,
  };
  const update = { type: "UpdateIdentity", changes, mayLoosen: true } as const;
  await made.node.identities.handle(identityId, update, cause);
  const asked: string[] = [];
  const views: ApprovalView[] = [];
  const channel = {
    async ask({ channel: { config }, view }: ChannelRequest) {
      if (failures-- > 0) return { reached: false as const, error: "busy", again: true };
      asked.push(`${config.to ?? config.chat_id} v${view.version}`);
      views.push(view);
      return { reached: true as const };
    },
  };
  const channels: Channels = { email: channel, telegram: channel, slack: channel };
  const process = notifyApprovers(made.node, channels);
  const timers: Timer[] = [];
  const onTimer = (change: TimerChange) => {
    const { key, name } = "set" in change ? change.set : { key: change.cancel, name: change.name };
    const others = timers.filter((timer) => timer.key !== key || timer.name !== name);
    timers.splice(0, timers.length, ...others, ...("set" in change ? [change.set] : []));
  };
  return {
    ...made,
    asked,
    views,
    timers,
    async tellAll() {
      for (const event of [...made.log.all]) {
        if (event.stream.startsWith("draft-")) await tell(process, event, { onTimer });
      }
    },
    tellEdited: () => tell(process, made.log.all.findLast(({ type }) => type === "DraftEdited")!, { onTimer }),
    /** Sets channels; `hear` hands that event to the process, whenever the test calls it. */
    async name(changes: Partial<IdentitySettings>) {
      await made.changeIdentity(changes);
      const event = made.log.all.findLast(({ type }) => type === "IdentityUpdated")!;
      const hear = async () => {
        await tell(process, event, { onTimer });
        for (const timer of timers.splice(0)) await fire(process, timer, { onTimer });
      };
      return { hear };
    },
    fire: (timer: Timer) => fire(process, timer, { onTimer }),
  };
}

describe("notifyApprovers", () => {
  it("each channel is asked once about a version, however often events are repeated", async () => {
    const { submit, advance, tellAll, asked } = await world();
    await submit();
    await tellAll();
    await tellAll();
    expect(asked).to.deep.equal(["first@approvers.example v1"]);
    await advance(30 * minute);
    await tellAll();
    await tellAll();
    expect(asked).to.deep.equal(["first@approvers.example v1", "second@approvers.example v1"]);
  });

  it("the secondary channel is not shown a version made after the escalation before its own delay [d13 new version]", async () => {
    const { submit, edit, advance, tellAll, asked } = await world();
    const draftId = await submit();
    await advance(30 * minute);
    await edit(draftId, "Another answer.");
    await tellAll();
    expect(asked.filter((each) => each.startsWith("second"))).to.deep.equal([]);
    await advance(30 * minute);
    await tellAll();
    expect(asked.filter((each) => each.startsWith("second"))).to.deep.equal(["second@approvers.example v2"]);
  });

  it("a channel that refused a request is asked again, and no other", async () => {
    const { submit, advance, tellAll, asked, timers, fire } = await world(1);
    await submit();
    await tellAll();
    expect([asked, timers.map(({ name }) => name)]).to.deep.equal([[], ["retry primary"]]);
    await advance(30 * minute);
    await fire(timers[0] as Timer);
    expect(asked).to.deep.equal(["first@approvers.example v1"]);
  });

  it("a new version before the retry of the old one is asked about once", async () => {
    const { submit, edit, tellAll, tellEdited, asked, timers } = await world(1);
    const draftId = await submit();
    await tellAll();
    expect(timers).to.have.length(1);
    await edit(draftId, "Another answer.");
    await tellEdited();
    expect([asked, timers]).to.deep.equal([["first@approvers.example v2"], []]);
  });

  for (const channel of [email("named@approvers.example"), chat]) {
    for (const heard of ["before", "after"]) {
      it(`a draft submitted after the ${channel.type} channel was set is asked about once, if that event comes ${heard} it`, async () => {
        const { submit, tellAll, asked, name } = await world();
        const { hear } = await name({ approvalChannel: channel });
        await submit();
        if (heard === "after") await tellAll();
        await hear();
        await tellAll();
        expect(asked).to.deep.equal([`${whoIs(channel)} v1`]);
      });

      it(`an escalation after the second channel (${channel.type}) was set asks once, if that event comes ${heard} it`, async () => {
        const { submit, advance, tellAll, asked, name } = await world();
        await submit();
        await tellAll();
        const { hear } = await name({ secondaryApprovalChannel: channel });
        await advance(30 * minute);
        if (heard === "after") await tellAll();
        await hear();
        await tellAll();
        expect(asked).to.deep.equal(["first@approvers.example v1", `${whoIs(channel)} v1`]);
      });
    }
  }

  for (const channel of [email("named@approvers.example"), chat]) {
    it(`a ${channel.type} channel set before a retry is asked once, if that event comes after it`, async () => {
      const { submit, tellAll, asked, name, timers, fire } = await world(1);
      await submit();
      await tellAll();
      const [again] = timers.splice(0);
      const { hear } = await name({ approvalChannel: channel });
      await fire(again!);
      await hear();
      expect([asked, timers]).to.deep.equal([[`${whoIs(channel)} v1`], []]);
    });
  }

  it("a channel replaced while the request is recorded is not asked, and everything is read again", async () => {
    const { submit, tellAll, asked, changeIdentity, node, timers } = await world();
    await submit();
    const { load } = node.identities;
    let looks = 0;
    Object.assign(node.identities, {
      async load(id: string) {
        const loaded = await load(id);
        // The last read before the request is recorded.
        if (++looks === 2) await changeIdentity({ approvalChannel: chat });
        return loaded;
      },
    });
    expect(await tellAll().catch((error) => error)).to.be.instanceOf(StreamMoved);
    expect([asked, timers]).to.deep.equal([[], []]);
    await tellAll();
    expect(asked).to.deep.equal(["7 v1"]);
  });

  it("a chat that is set again is asked again, because its buttons may not have worked", async () => {
    const { submit, tellAll, asked, name } = await world();
    await name({ approvalChannel: chat });
    await submit();
    await tellAll();
    const again = { ...chat, config: { ...chat.config, bot_token: "1:another" } };
    const { hear } = await name({ approvalChannel: again });
    await hear();
    expect(asked).to.deep.equal(["7 v1", "7 v1"]);
  });

  it("an approver set while a draft was approved is asked once the approval is undone", async () => {
    const { submit, tellAll, asked, name, node } = await world();
    const draftId = await submit();
    await tellAll();
    const ann = { ...cause, actor: { kind: "session" as const, id: "ann", name: "Ann", email: "ann@people.example" } };
    const approveAndTakeBack = async (meanwhile?: () => Promise<void>) => {
      await approveByPerson(node, { workspaceId, draftId, ifVersion: 1 }, ann);
      await meanwhile?.();
      await undoApproval(node, { workspaceId, draftId }, ann);
      await tellAll();
    };
    await approveAndTakeBack();
    expect(asked).to.deep.equal(["first@approvers.example v1"]);
    await approveAndTakeBack(async () => {
      const { hear } = await name({ approvalChannel: email("named@approvers.example") });
      await hear();
    });
    expect(asked).to.deep.equal(["first@approvers.example v1", "named@approvers.example v1"]);
  });

  it("a mailbox that is set again after its links expired is asked again", async () => {
    const { submit, sleepThrough, tellAll, asked, name } = await world();
    await submit();
    await tellAll();
    sleepThrough(4 * day);
    for (const to of ["other@approvers.example", "first@approvers.example"]) {
      const { hear } = await name({ approvalChannel: email(to) });
      await hear();
    }
    expect(asked).to.deep.equal([
      "first@approvers.example v1",
      "other@approvers.example v1",
      "first@approvers.example v1",
    ]);
  });

  it("no approver is asked about a decided draft", async () => {
    const { submit, advance, tellAll, approve, asked } = await world();
    const draftId = await submit();
    await advance(30 * minute);
    await approve(draftId);
    await tellAll();
    expect(asked).to.deep.equal([]);
  });

  for (const late of ["is handled late", "failed for that long"]) {
    it(`a request older than a day that ${late} is not made, and the draft says so`, async () => {
      const { submit, sleepThrough, tellAll, asked, timers, fire, state, log } = await world(
        late === "is handled late" ? 0 : 1,
      );
      const draftId = await submit();
      if (late !== "is handled late") await tellAll();
      sleepThrough(day + 1);
      for (const timer of timers.splice(0)) await fire(timer);
      if (late === "is handled late") await tellAll();
      expect([asked, timers]).to.deep.equal([[], []]);
      const said = log.all.findLast(({ type }) => type === "NotificationFailed")!;
      expect(said.data).to.include({ final: true });
      expect(said.data.error).to.include("not notified within 24 hours");
      expect((await state.draft(draftId)).status).to.equal("pending");
    });
  }

  it("a request that is exactly a day old is made", async () => {
    const { submit, sleepThrough, tellAll, asked } = await world();
    await submit();
    sleepThrough(day);
    await tellAll();
    expect(asked).to.deep.equal(["first@approvers.example v1"]);
  });

  it("a request shows changes since the version that reached approvers, and when another approver is asked", async () => {
    const { submit, edit, advance, tellAll, views, node } = await world(1);
    const draftId = await submit();
    const at = node.clock.now().getTime();
    await tellAll();
    await edit(draftId, "Another answer.");
    await tellAll();
    await edit(draftId, "A third answer.");
    await tellAll();
    // Version 1 reached no approver, because the channel failed once.
    expect(views[0]).to.include({ version: 2, previous: null });
    const { previous, escalatesAt, shownAt, threadSubject, content } = views.at(-1) as ApprovalView;
    expect(previous?.version).to.equal(2);
    expect(previous?.content.body_text).to.equal("Another answer.");
    expect(previous?.because).to.deep.equal(["edit"]);
    expect(content.body_text).to.equal("A third answer.");
    expect(threadSubject).to.be.a("string").and.not.equal("");
    expect([shownAt, escalatesAt].map((time) => Date.parse(time ?? "") - at)).to.deep.equal([0, 30 * minute]);
    await advance(30 * minute);
    await tellAll();
    expect(views.at(-1)).to.include({ version: 3, escalatesAt: null });
  });
});
