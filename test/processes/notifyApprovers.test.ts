import { expect } from "chai";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import type { ApprovalRequest, Channels } from "#src/channels/channel.ts";
import { approveByPerson, undoApproval } from "#src/commands/drafts/peoplesDecisions.ts";
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

/** The rule on channels that take what they are given, or for the first `failures` times do not. */
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
    async ask({ channel: { config }, view }: ApprovalRequest) {
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
    /** Names channels; `hear` tells of that, at whatever moment it comes to be handled. */
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

describe("notifying approvers", () => {
  it("asks each channel once for what it has to be asked, however often that is told", async () => {
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

  it("does not show the secondary channel a version that came after the escalation, before its own time is over [d13 new version]", async () => {
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

  it("tries the channel again that did not take it, and no other", async () => {
    const { submit, advance, tellAll, asked, timers, fire } = await world(1);
    await submit();
    await tellAll();
    expect([asked, timers.map(({ name }) => name)]).to.deep.equal([[], ["retry primary"]]);
    await advance(30 * minute);
    await fire(timers[0] as Timer);
    expect(asked).to.deep.equal(["first@approvers.example v1"]);
  });

  it("asks once about a version that came while the one before was still to be tried again", async () => {
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
      it(`asks once about a draft that came after the channel (${channel.type}) was named, where that is heard of ${heard} it`, async () => {
        const { submit, tellAll, asked, name } = await world();
        const { hear } = await name({ approvalChannel: channel });
        await submit();
        if (heard === "after") await tellAll();
        await hear();
        await tellAll();
        expect(asked).to.deep.equal([`${whoIs(channel)} v1`]);
      });

      it(`asks once about an escalation that came after the second channel (${channel.type}) was named, where that is heard of ${heard} it`, async () => {
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
    it(`asks a channel (${channel.type}) once that is named before the draft is tried again, where that is heard of after it`, async () => {
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

  it("asks nobody through a channel that is replaced in that moment: all of it is looked at again", async () => {
    const { submit, tellAll, asked, changeIdentity, node, timers } = await world();
    await submit();
    const { load } = node.identities;
    let looks = 0;
    Object.assign(node.identities, {
      async load(id: string) {
        const loaded = await load(id);
        // The last look before the question is recorded.
        if (++looks === 2) await changeIdentity({ approvalChannel: chat });
        return loaded;
      },
    });
    expect(await tellAll().catch((error) => error)).to.be.instanceOf(StreamMoved);
    expect([asked, timers]).to.deep.equal([[], []]);
    await tellAll();
    expect(asked).to.deep.equal(["7 v1"]);
  });

  it("asks a chat again that is named once more after it was asked: its buttons may not have worked", async () => {
    const { submit, tellAll, asked, name } = await world();
    await name({ approvalChannel: chat });
    await submit();
    await tellAll();
    const again = { ...chat, config: { ...chat.config, bot_token: "1:another" } };
    const { hear } = await name({ approvalChannel: again });
    await hear();
    expect(asked).to.deep.equal(["7 v1", "7 v1"]);
  });

  it("asks who was named while a draft was approved, once that is taken back: whoever has the question decides no more", async () => {
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

  it("asks a mailbox again that is named once more after its links have run out", async () => {
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

  it("asks nobody about what is decided", async () => {
    const { submit, advance, tellAll, approve, asked } = await world();
    const draftId = await submit();
    await advance(30 * minute);
    await approve(draftId);
    await tellAll();
    expect(asked).to.deep.equal([]);
  });

  for (const late of ["comes to it late", "was not reached for that long"]) {
    it(`asks nobody about what is older than a day and says on the draft that it did not, where it ${late}`, async () => {
      const { submit, sleepThrough, tellAll, asked, timers, fire, state, log } = await world(
        late === "comes to it late" ? 0 : 1,
      );
      const draftId = await submit();
      if (late !== "comes to it late") await tellAll();
      sleepThrough(day + 1);
      for (const timer of timers.splice(0)) await fire(timer);
      if (late === "comes to it late") await tellAll();
      expect([asked, timers]).to.deep.equal([[], []]);
      const said = log.all.findLast(({ type }) => type === "NotificationFailed")!;
      expect(said.data).to.include({ final: true });
      expect(said.data.error).to.include("more than 24 hours ago");
      expect((await state.draft(draftId)).status).to.equal("pending");
    });
  }

  it("asks about what is a day old to the second", async () => {
    const { submit, sleepThrough, tellAll, asked } = await world();
    await submit();
    sleepThrough(day);
    await tellAll();
    expect(asked).to.deep.equal(["first@approvers.example v1"]);
  });

  it("shows what changed since the version that approvers really were asked about, and when somebody else is asked", async () => {
    const { submit, edit, advance, tellAll, views, node } = await world(1);
    const draftId = await submit();
    const at = node.clock.now().getTime();
    await tellAll();
    await edit(draftId, "Another answer.");
    await tellAll();
    await edit(draftId, "A third answer.");
    await tellAll();
    // Version 1 reached nobody: the channel failed once.
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
