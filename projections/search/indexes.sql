create index on message_words using gin (words);
select work.index_parts('search_words', 'word');
select work.index_parts('edited_names', 'words');
