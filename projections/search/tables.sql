-- Words of every message, folded (words.ts); a sender's begin with @.
create table message_words (
  id uuid primary key,
  workspace_id uuid not null,
  thread_id uuid not null,
  draft_id uuid,
  words tsvector not null
);
create index on message_words (thread_id);
create index on message_words (draft_id) where draft_id is not null;

-- Every word a workspace ever had in its mail, in which parts of words are searched.
create table search_words (
  workspace_id uuid not null,
  word text collate "C" not null,
  primary key (workspace_id, word)
);

-- Contacts whose name was set by a person or a key; message_words has only the names in their mail. `name`: its folded words, each between
-- spaces. `words`: the same for the name and the address together.
create table edited_names (
  contact_id uuid primary key,
  workspace_id uuid not null,
  name text not null,
  words text not null
);
create index on edited_names (workspace_id);

create table search_thread_merges (
  absorbed_id uuid primary key,
  survivor_id uuid not null
);

-- For the functions of 0003-search.sql, which run as the owner.
create policy owner_searches on message_words for select to current_user using (true);
create policy owner_searches on search_words for select to current_user using (true);
create policy owner_searches on edited_names for select to current_user using (true);
