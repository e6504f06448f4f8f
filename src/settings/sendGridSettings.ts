import Type from "typebox";
import { HttpUrl, SigningKey, Token } from "./settingKinds.ts";

/** The settings of SendGrid as the mail provider: a part of src/settings/settings.ts. */
export const sendGridSettings = {
  SENDGRID_API_KEY: Type.Optional(
    Token({
      otherwise: "no mail leaves by SendGrid",
      description:
        "The key of SendGrid's API that MAIL_PROVIDER=sendgrid sends with; it needs the rights Mail Send and Sender Authentication.",
    }),
  ),
  SENDGRID_BASE_URL: HttpUrl({
    default: "https://api.sendgrid.com",
    description: "Where SendGrid's API is, which is another host for an account in the EU.",
  }),
  SENDGRID_EVENT_PUBLIC_KEY: Type.Optional(
    SigningKey({
      otherwise: "/hooks/sendgrid/events does not exist",
      description:
        "The verification key of SendGrid's signed Event Webhook, whose events tell what became of mail and settle sends of unknown outcome.",
    }),
  ),
};
