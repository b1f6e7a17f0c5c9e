"""A certificate authority of the cluster's own, a certificate for each component, and a kubeconfig with it."""

import json

from cluster_setup.processes import run
from cluster_setup.state import GATEWAY, SetupError, node_address

DAYS = "30"
NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def _issue(pki, name, subject, alternative_names=""):
    if (pki / f"{name}.kubeconfig").exists():
        return
    run(["openssl", "req", *NEW_KEY, "-keyout", pki / f"{name}.key", "-out", pki / f"{name}.csr", "-subj", subject])
    extensions = pki / f"{name}.ext"
    extensions.write_text("basicConstraints=CA:false\nkeyUsage=digitalSignature\n"
                          "extendedKeyUsage=serverAuth,clientAuth\n"
                          + (f"subjectAltName={alternative_names}\n" if alternative_names else ""))
    run(["openssl", "x509", "-req", "-in", pki / f"{name}.csr", "-CA", pki / "ca.crt", "-CAkey", pki / "ca.key",
         "-CAcreateserial", "-out", pki / f"{name}.crt", "-days", DAYS, "-extfile", extensions])
    (pki / f"{name}.kubeconfig").write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
        "clusters": [{"name": "e2e", "cluster": {"server": f"https://{GATEWAY}:6443",
                                                 "certificate-authority": str(pki / "ca.crt")}}],
        "users": [{"name": "e2e", "user": {"client-certificate": str(pki / f"{name}.crt"),
                                           "client-key": str(pki / f"{name}.key")}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}]}, indent=2) + "\n")


def ensure(cluster):
    pki = cluster.pki
    pki.mkdir(parents=True, exist_ok=True)
    pki.chmod(0o700)
    if not (pki / "sa.pub").exists():
        run(["openssl", "req", "-x509", *NEW_KEY, "-keyout", pki / "ca.key", "-out", pki / "ca.crt", "-subj",
             f"/CN=espalier-e2e-{cluster.name}", "-days", DAYS, "-addext", "keyUsage=critical,keyCertSign,cRLSign"])
        run(["openssl", "genrsa", "-out", pki / "sa.key", "2048"])
        run(["openssl", "rsa", "-in", pki / "sa.key", "-pubout", "-out", pki / "sa.pub"])
    names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]
    _issue(pki, "apiserver", "/CN=kube-apiserver",
           ",".join([f"DNS:{name}" for name in names] + ["IP:10.96.0.1", f"IP:{GATEWAY}", "IP:127.0.0.1"]))
    _issue(pki, "admin", "/O=system:masters/CN=admin")
    _issue(pki, "kubelet-client", "/O=system:masters/CN=apiserver-kubelet-client")
    _issue(pki, "controller-manager", "/CN=system:kube-controller-manager")
    _issue(pki, "scheduler", "/CN=system:kube-scheduler")
    _issue(pki, "proxy", "/CN=system:kube-proxy")
    _issue(pki, "coredns", "/CN=coredns")
    _issue(pki, "prometheus", "/CN=prometheus")
    for node in cluster.node_names:
        _issue(pki, node, f"/O=system:nodes/CN=system:node:{node}", f"DNS:{node},IP:{node_address(node)}")
    if not cluster.kubeconfig.exists():
        raise SetupError(f"{cluster.kubeconfig} was not written")
