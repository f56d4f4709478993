"""Certificates for the double, made by openssl: an authority, the server's, and one for each client."""
import os, subprocess

NAMES = "subjectAltName=DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1"


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def authority(folder, name="ca"):
    os.makedirs(folder, exist_ok=True)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN=double-{name}",
            "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt")


def issue(folder, name, subject, extension):
    path = f"{folder}/{name}"
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", subject, "-keyout", f"{path}.key", "-out", f"{path}.csr")
    with open(f"{path}.ext", "w", encoding="ascii") as file:
        file.write(extension + "\n")
    openssl("x509", "-req", "-in", f"{path}.csr", "-CA", f"{folder}/ca.crt", "-CAkey", f"{folder}/ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", f"{path}.ext", "-out", f"{path}.crt")


def make(folder, clients):
    """clients: name -> subject, such as /O=GROUP/CN=NAME."""
    authority(folder)
    issue(folder, "server", "/CN=kube-apiserver", NAMES)
    for name, subject in clients.items():
        issue(folder, name, subject, "extendedKeyUsage=clientAuth")
