#!/usr/bin/env bash
# real_api_server.sh start|stop FOLDER: etcd and the API server that KUBE_APISERVER names, on 127.0.0.1:PORT, without
# kubelets. User of rbac.yaml: token "berth"; without rights: "nobody"; everything: "admin". Writes kubeconfig-TOKEN.
set -euo pipefail
verb=$1 folder=$2
port=${PORT:-26500}

stop() {
  for name in apiserver etcd; do
    [ -s "$folder/$name.pid" ] && kill "$(cat "$folder/$name.pid")" 2>/dev/null || true
    rm -f "$folder/$name.pid"
  done
}

make_certificates() {
  openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=test-ca -keyout ca.key -out ca.crt
  openssl req -newkey rsa:2048 -nodes -subj /CN=kube-apiserver -keyout server.key -out server.csr
  openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -out server.crt \
    -extfile <(echo subjectAltName=IP:127.0.0.1)
  openssl genrsa -out account.key 2048
  openssl rsa -in account.key -pubout -out account.pub
}

write_users() {
  printf '%s\n' 'admin,admin,1,system:masters' 'berth,system:serviceaccount:berth:berth,2' 'nobody,nobody,3' >tokens.csv
  for token in admin berth nobody; do
    cat >"kubeconfig-$token" <<END
{"apiVersion": "v1", "kind": "Config", "current-context": "c",
 "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:$port", "certificate-authority": "$folder/ca.crt"}}],
 "users": [{"name": "u", "user": {"token": "$token"}}],
 "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}
END
  done
}

start() {
  mkdir -p "$folder" && cd "$folder"
  make_certificates >certificates.log 2>&1
  write_users
  local store=http://127.0.0.1:$((port + 1)) peers=http://127.0.0.1:$((port + 2))
  etcd --data-dir etcd --unsafe-no-fsync --listen-client-urls "$store" --advertise-client-urls "$store" \
    --listen-peer-urls "$peers" --initial-advertise-peer-urls "$peers" --initial-cluster "default=$peers" \
    >etcd.log 2>&1 </dev/null &
  echo $! >etcd.pid
  "$KUBE_APISERVER" --etcd-servers "$store" --bind-address 127.0.0.1 --advertise-address 127.0.0.1 \
    --secure-port "$port" ${KUBE_APISERVER_FLAGS:-} --tls-cert-file server.crt --tls-private-key-file server.key \
    --client-ca-file ca.crt --token-auth-file tokens.csv --authorization-mode RBAC \
    --service-account-issuer https://test --service-account-key-file account.pub \
    --service-account-signing-key-file account.key --service-cluster-ip-range 10.99.0.0/24 \
    --endpoint-reconciler-type none --disable-admission-plugins ServiceAccount,TaintNodesByCondition \
    >apiserver.log 2>&1 </dev/null &
  echo $! >apiserver.pid
  for _ in $(seq 300); do
    "${KUBECTL:-kubectl}" --kubeconfig kubeconfig-admin get --raw /readyz >/dev/null 2>&1 && exit 0
    sleep 0.2
  done
  tail -5 apiserver.log >&2
  exit 1
}

case $verb in
  start) start ;;
  stop) stop ;;
esac
