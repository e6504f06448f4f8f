import Type from "typebox";
import { EmailAddress, Nullable, Strict, Uuid, VisibleLine } from "./common.ts";

/** Token of a mailed link: 256 bits in base64url. Others are refused as unknown links. */
export const LinkToken = Type.String({ minLength: 1, maxLength: 200 });
/** Length and content of passwords are checked by the accounts, not here. */
export const GivenPassword = Type.String({ minLength: 1, maxLength: 20_000 });
const PersonName = VisibleLine(100);
const WorkspaceName = VisibleLine(100);
const MemberRole = Type.Union(["owner", "admin", "approver", "auditor"].map((role) => Type.Literal(role)));

export const SignUpBody = Strict({
  email: EmailAddress,
  name: Type.Optional(Nullable(PersonName)),
  workspace_name: Type.Optional(Nullable(WorkspaceName)),
});
export const ConfirmBody = Strict({ token: LinkToken, password: GivenPassword });
export const SignInBody = Strict({ email: EmailAddress, password: GivenPassword });
export const ForgotBody = Strict({ email: EmailAddress });
export const ResetBody = Strict({ token: LinkToken, password: GivenPassword });
export const ChangeBody = Strict({ current_password: GivenPassword, password: GivenPassword });
export const NewEmailBody = Strict({ new_email: EmailAddress, password: GivenPassword });
export const TokenBody = Strict({ token: LinkToken });
export const ProfileBody = Strict({ name: Nullable(PersonName) });
export const ChooseBody = Strict({ workspace_id: Uuid });
export const WorkspaceBody = Strict({ name: WorkspaceName });
export const AcceptBody = Strict({
  token: LinkToken,
  password: Type.Optional(GivenPassword),
  name: Type.Optional(Nullable(PersonName)),
  email: Type.Optional(EmailAddress),
});

export const SessionAnswer = Strict({
  user: Strict({ id: Uuid, email: Type.String(), name: Nullable(Type.String()) }),
  workspaces: Type.Array(Strict({ id: Uuid, name: Type.String(), role: MemberRole })),
  workspace_id: Nullable(Uuid),
});
/** Answered whether or not the account exists and a mail is sent. */
export const MailedAnswer = Strict({ mailed: Type.Literal(true) });
export const DoneAnswer = Strict({ done: Type.Literal(true) });
