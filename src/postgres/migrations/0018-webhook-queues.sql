-- What is due is asked for webhook by webhook, so that one with many queues costs no more than one with few.
create index on work.webhook_queues (webhook_id, due_at);
drop index work.webhook_queues_due_at_idx;
