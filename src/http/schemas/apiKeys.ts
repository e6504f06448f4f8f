import Type from "typebox";
import { allScopes, namedScopes } from "../framework/keys/scopes.ts";
import { Envelope, Nullable, Paging, Strict, Text, Timestamp, Uuid } from "./common.ts";

const Scope = Type.Enum(allScopes);

const shown = {
  id: Uuid,
  name: Type.String(),
  prefix: Type.String({ description: "The first 13 characters of the key.", examples: ["svc_live_a1B2"] }),
};

/** A key in a list, without its secret. */
export const ApiKey = Strict(
  { ...shown, scopes: Type.Array(Scope), created_at: Timestamp, last_used_at: Nullable(Timestamp) },
  { title: "ApiKey" },
);

/** The only answer that contains the key itself. */
export const ApiKeyCreated = Strict(
  {
    ...shown,
    key: Type.String({ pattern: "^svc_live_[0-9A-Za-z]{32}$", description: "Shown only once." }),
    scopes: Type.Array(Scope),
    created_at: Timestamp,
  },
  { title: "ApiKeyCreated" },
);

export const ApiKeyList = Envelope(ApiKey);
export const ApiKeyQuery = Paging;

export const CreateApiKey = Strict(
  {
    name: Text(255, { minLength: 1, examples: ["support agent"] }),
    scopes: Type.Optional(
      Type.Array(Scope, {
        maxItems: allScopes.length,
        description: `At most the scopes of the creating key. Default: all of its scopes except ${namedScopes.join(", ")}, which must be listed explicitly.`,
      }),
    ),
  },
  { title: "CreateApiKey" },
);
