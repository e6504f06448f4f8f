-- Deliveries of the time in which the service had disabled their webhook, and the beginning of the answer to the newest attempt.
alter table work.webhook_deliveries
  add column response_body text,
  drop constraint webhook_deliveries_status_check,
  add constraint webhook_deliveries_status_check
    check (status in ('pending', 'delivered', 'failed', 'canceled', 'skipped'));
