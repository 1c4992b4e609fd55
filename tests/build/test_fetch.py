"""The tarball: where it may come from, and that none but the pinned one gets in."""

import hashlib
import shutil

CURL_OPTIONS = 'while [ "$1" != -o ]; do shift; done;'  # then "$2" is the file to write


def no_network(checkout):
    checkout.environment.pop("MAGPY_CPYTHON_TARBALL", None)
    for tool in ("curl", "wget", "python3", "apt-get"):
        checkout.fake_tool(tool, "echo 'no route to host' >&2; exit 1")


def downloads(checkout):
    return [path.name for path in (checkout.home / "downloads").iterdir()]


def test_the_named_file_is_taken(checkout):
    assert checkout.run("fetch_cpython.sh").returncode == 0
    assert downloads(checkout) == ["Python-3.13.5.tar.xz"]


def test_a_named_file_with_another_hash_is_refused(checkout):
    checkout.tarball.write_text("something else")
    result = checkout.run("fetch_cpython.sh")
    assert result.returncode == 1
    assert hashlib.sha256(b"something else").hexdigest() in result.stderr
    assert "is not the pristine Python-3.13.5.tar.xz" in result.stderr
    assert downloads(checkout) == []


def test_a_named_file_that_is_not_there(checkout):
    checkout.tarball.unlink()
    result = checkout.run("fetch_cpython.sh")
    assert result.returncode == 1
    assert f"MAGPY_CPYTHON_TARBALL={checkout.tarball}: there is no such readable file" in result.stderr


def test_without_network_the_message_names_file_and_variable(checkout):
    no_network(checkout)
    result = checkout.run("fetch_cpython.sh")
    assert result.returncode == 1
    assert "Python-3.13.5.tar.xz is missing, and could not be downloaded" in result.stderr
    assert "python.org: no route to host" in result.stderr
    assert "set MAGPY_CPYTHON_TARBALL to its path" in result.stderr


def test_without_network_the_kept_file_serves(checkout):
    checkout.run("fetch_cpython.sh")
    no_network(checkout)
    assert checkout.run("fetch_cpython.sh").returncode == 0


def test_a_download_with_another_hash_is_refused_and_the_next_route_tried(checkout):
    no_network(checkout)
    checkout.fake_tool("curl", CURL_OPTIONS + 'echo "<html>log in</html>" >"$2"')
    result = checkout.run("fetch_cpython.sh")
    assert result.returncode == 1
    assert "refused: python.org gives a file with SHA-256" in result.stderr
    assert "trying the Debian mirror" in result.stderr
    assert downloads(checkout) == []


def test_a_damaged_kept_file_is_fetched_again(checkout):
    checkout.run("fetch_cpython.sh")
    kept = checkout.home / "downloads/Python-3.13.5.tar.xz"
    kept.write_text("bit rot")
    no_network(checkout)
    checkout.fake_tool("curl", CURL_OPTIONS + f'cp "{checkout.tarball}" "$2"')
    assert checkout.run("fetch_cpython.sh").returncode == 0
    assert kept.read_bytes() == checkout.tarball.read_bytes()


def test_the_debian_route(checkout):
    """The mirror is the one that apt is set up for; lists, caches and sources are private."""
    no_network(checkout)
    log = checkout.tools / "apt-calls"
    shutil.copy(checkout.tarball, checkout.tools / "orig")
    checkout.fake_tool(
        "apt-get",
        f"""
        case "$*" in
            "--print-uris update")
                echo "'http://mirror.example/debian/dists/some/InRelease' x 0"
                echo "'http://mirror.example/debian-security/dists/some/InRelease' x 0" ;;
            *" source "*) cp "{checkout.tools}/orig" python3.13_3.13.5.orig.tar.xz ;;
            *) cat "{checkout.home}/tmp/apt/sources.list" >>{log} ;;
        esac
        echo "$*" >>{log}""",
    )
    result = checkout.run("fetch_cpython.sh")
    assert result.returncode == 0, result.stderr
    calls = log.read_text()
    assert "http://mirror.example/debian trixie main" in calls
    assert f"Dir::State::Lists={checkout.home}" in calls
    assert "security trixie" not in calls
