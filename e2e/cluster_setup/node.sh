#!/bin/bash
# The init process of a node (node.py starts it): starts containerd, kube-proxy and kubelet, and ends when one of them ends.
# The whole node ends with it, because a node without one of these programs would fail in confusing ways.
set -euo pipefail

# These programs write to fixed folders. The mounts keep those files in the node, not on the machine.
mount --make-rprivate /
for folder in /run /var/lib /var/log; do
  mount -t tmpfs -o mode=0755 "node-$NODE" "$folder"
done
# The kubelet's mounts must be seen by the containers that it starts afterwards.
mount --make-rshared /
mkdir -p /run/containerd /run/lock /var/lib/kubelet

for controller in cpu cpuacct cpuset memory devices freezer blkio pids systemd; do
  if [ -d "/sys/fs/cgroup/$controller" ]; then mkdir -p "/sys/fs/cgroup/$controller/$CGROUP"; fi
done
for setting in cpus mems; do
  cat "/sys/fs/cgroup/cpuset/cpuset.$setting" >"/sys/fs/cgroup/cpuset/$CGROUP/cpuset.$setting"
done

containerd --config "$FOLDER/containerd.toml" >>"$LOGS/$NODE-containerd.log" 2>&1 &
for _ in $(seq 150); do
  if ctr version >/dev/null 2>&1; then break; fi
  sleep 0.2
done
ctr version >/dev/null

"$KUBE_PROXY" --config "$FOLDER/proxy.json" >>"$LOGS/$NODE-kube-proxy.log" 2>&1 &
"$KUBELET" --config "$FOLDER/kubelet.json" --kubeconfig "$KUBECONFIG_FILE" --hostname-override "$NODE" \
  --node-ip "$NODE_IP" --root-dir "$FOLDER/kubelet" --cert-dir "$FOLDER/kubelet/pki" \
  >>"$LOGS/$NODE-kubelet.log" 2>&1 &

status=0
wait -n || status=$?
echo "a program of this node has ended with exit status $status; see $LOGS/$NODE-*.log"
exit 1
