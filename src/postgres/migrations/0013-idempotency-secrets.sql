-- A secret that the answer will hold (a new API key), drawn before anything is made with it and sealed under the API key that asked: who
-- was cut off is told the same one by a repetition, and nobody else can come by it.
alter table work.idempotency_keys add column secret bytea;
