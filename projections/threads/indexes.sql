create index on threads (workspace_id, sorted_at desc, id desc) where in_lists;
create index on threads (workspace_id, identity_id, sorted_at desc, id desc) where in_lists;
create index on threads (workspace_id, status, sorted_at desc, id desc) where in_lists;
create index on threads (workspace_id, urgency desc, sorted_at desc, id desc) where in_lists;
create index on threads (workspace_id, sorted_at desc, id desc) where in_lists and needs_review;
create index on threads (primary_contact_id) where in_lists;
