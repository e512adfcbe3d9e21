"""Writes the bill of materials of the binary as CycloneDX 1.5, out of what Cargo and npm have locked.

Crates that only tests or build scripts use are left out, those for other systems are in: one bill for all of them. Nothing in it
depends on when or where it is made.
"""

import base64
import json
import sys
import tomllib
from pathlib import Path

ROOT = "gatewright"


def linked(metadata):
    """The packages that the binary is made of, by their ids, each with the ids that it uses."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    names = {package["id"]: package["name"] for package in metadata["packages"]}
    start = next(id for id in metadata["workspace_members"] if names[id] == ROOT)
    found, waiting = {}, [start]
    while waiting:
        id = waiting.pop()
        if id in found:
            continue
        is_normal = lambda dependency: any(kind["kind"] is None for kind in dependency["dep_kinds"])
        found[id] = sorted({it["pkg"] for it in nodes[id]["deps"] if is_normal(it)})
        waiting += found[id]
    return start, found


def crate(package, checksums):
    """One crate as a component."""
    purl = f"pkg:cargo/{package['name']}@{package['version']}"
    component = {
        "type": "application" if package["name"] == ROOT else "library",
        "bom-ref": purl,
        "name": package["name"],
        "version": package["version"],
        "purl": purl,
    }
    if package["license"]:
        component["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    elif package["source"]:
        sys.exit(f"error: {purl} has no checksum in Cargo.lock")
    return component


def npm(path, package):
    """One package of the pages as a component."""
    name = path.rpartition("node_modules/")[2]
    purl = f"pkg:npm/{name.replace('@', '%40', 1)}@{package['version']}"
    component = {"type": "library", "bom-ref": f"{purl}#{path}", "name": name, "version": package["version"], "purl": purl}
    if package.get("license"):
        component["licenses"] = [{"license": {"name": package["license"]}}]
    integrity = package.get("integrity", "")
    if not integrity.startswith("sha512-"):
        sys.exit(f"error: {purl} has no checksum in web/package-lock.json")
    component["hashes"] = [{"alg": "SHA-512", "content": base64.b64decode(integrity[7:]).hex()}]
    return component


def main(metadata_path, lock_path, npm_lock_path, out_path):
    metadata = json.loads(Path(metadata_path).read_text())
    lock = tomllib.loads(Path(lock_path).read_text())
    checksums = {(it["name"], it["version"]): it["checksum"] for it in lock["package"] if "checksum" in it}
    packages = {package["id"]: package for package in metadata["packages"]}
    start, found = linked(metadata)
    crates = {id: crate(packages[id], checksums) for id in found}
    pages = json.loads(Path(npm_lock_path).read_text())["packages"].items()
    pages = [npm(path, package) for path, package in pages if path and not package.get("optional")]
    root = crates.pop(start)
    components = sorted(crates.values(), key=lambda it: it["bom-ref"]) + sorted(pages, key=lambda it: it["bom-ref"])
    ref = lambda id: root["bom-ref"] if id == start else crates[id]["bom-ref"]
    uses = [{"ref": ref(id), "dependsOn": sorted(ref(used) for used in found[id])} for id in found]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": root},
        "components": components,
        "dependencies": sorted(uses, key=lambda it: it["ref"]),
    }
    refs = [component["bom-ref"] for component in components]
    if len(refs) != len(set(refs)):
        sys.exit("error: a component stands twice in the bill")
    unlicensed = [it["purl"] for it in components if "licenses" not in it and "hashes" in it]
    Path(out_path).write_text(json.dumps(bill, indent=1) + "\n")
    print(f"{len(crates)} crates and {len(pages)} packages of the pages -> {out_path}")
    if unlicensed:
        print(f"without a licence in their manifest: {', '.join(unlicensed)}")


main(*sys.argv[1:])
