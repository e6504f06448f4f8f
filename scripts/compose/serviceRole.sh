# PostgreSQL's image runs it once, on a new volume. The role that the service works as owns nothing: what it may do, the service's
# migrations grant.
psql -v ON_ERROR_STOP=1 -v password="$SERVICE_PASSWORD" -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
create role countersign_service login password :'password';
SQL
