#!/bin/sh
# Makes .env, the folder of settings and every secret for compose.yaml. What is there already stays as it is.
#
# The words of SLUICE run the command line of Sluice: by default its image.
set -eu
umask 077
[ -e .env ] || cp .env.example .env
. ./.env
secrets=$CONFIG/secrets
mkdir -p "$CONFIG/catalog" "$CONFIG/keys" "$secrets"
# The containers run as users of their own, who read the files; on this machine nobody else gets into the folder.
chmod 700 "$CONFIG"
chmod 755 "$CONFIG/catalog" "$CONFIG/keys" "$secrets"
[ -e "$CONFIG/catalog/catalog.yaml" ] || install -m 644 deploy/compose/catalog.yaml "$CONFIG/catalog/catalog.yaml"

keep() {
  [ -e "$secrets/$1" ] || {
    cat > "$secrets/.new"
    [ -s "$secrets/.new" ] || { echo "no $1 was made" >&2; exit 1; }
    chmod 444 "$secrets/.new"
    mv "$secrets/.new" "$secrets/$1"
  }
}

openssl rand -hex 24 | keep database_password
echo "postgres://sluice:$(cat "$secrets/database_password")@postgres:5432/sluice" | keep database_url
[ -e "$secrets/valkey_conf" ] || {
  password=$(openssl rand -hex 24)
  echo "requirepass $password" | keep valkey_conf
  echo "redis://:$password@valkey:6379" | keep redis_url
}
openssl rand -hex 32 | keep bus_key
echo "0x$(openssl rand -hex 32)" | keep catalog_key
[ -e "$secrets/log_key" ] || ${SLUICE:-docker run --rm "$IMAGE"} log key "$DOMAIN/v1/log" |
  sed -n 's/^SLUICE_LOG_KEY=//p' | keep log_key
openssl rand -hex 16 | keep grafana_password
