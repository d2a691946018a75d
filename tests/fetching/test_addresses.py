"""What an address is, and what a policy says of it."""

from __future__ import annotations

import pytest

from scorpio.address_policy import (
    ALLOW,
    DENY,
    DIRECT,
    METADATA,
    PRIVATE,
    PUBLIC,
    Policy,
    classify,
    names_private,
    port_refusal,
)

METADATA_ADDRESSES = (
    *("169.254.169.254", "169.254.170.2", "169.254.170.23", "168.63.129.16", "100.100.100.200", "192.0.0.192"),
    *("169.254.42.42", "169.254.0.23", "fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42"),
    *("::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "::169.254.169.254", "::ffff:0:a9fe:a9fe", "64:ff9b::a9fe:a9fe"),
    *("64:ff9b:1::a9fe:a9fe", "64:ff9b:1:a9fe:a9:fe00::", "2002:a9fe:a9fe::1", "2001:0:a9fe:a9fe::1"),
    *("2001:0:102:304:0:0:5601:5601", "2a00:1::5efe:a9fe:a9fe", "fe80::a9fe:a9fe", "::ffff:100.100.100.200"),
)
"""Clouds' own, and the same written inside IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo, ISATAP."""

PRIVATE_ADDRESSES = (
    *("127.0.0.1", "127.255.0.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"),
    *("169.254.1.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1"),
    *("255.255.255.255", "192.88.99.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "fec0::1"),
    *("ff02::1", "ff0e::1", "2001:db8::1", "3fff::1", "100::1", "5f00::1", "2001:2::1", "::127.0.0.1"),
    *("::ffff:10.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "64:ff9b:1::1.1.1.1"),
    *("2001:0:4136:e378:8000:63bf:3fff:fdd2", "2a00:1::200:5efe:c0a8:101"),
)
PUBLIC_ADDRESSES = (
    *("8.8.8.8", "1.1.1.1", "172.32.0.1", "192.167.1.1", "100.128.0.1", "99.255.255.255", "169.253.1.1"),
    *("2606:4700:4700::1111", "2a00:1450:4001:830::200e", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"),
)


@pytest.mark.requirement("fetch:metadata")
@pytest.mark.parametrize("address", METADATA_ADDRESSES)
def test_a_metadata_address_is_known_in_every_spelling(address: str) -> None:
    assert classify(address) == METADATA
    assert all(Policy(mode, address, 80).refusal(address, 80, address) for mode in (DIRECT, DENY))


@pytest.mark.requirement("fetch:private")
@pytest.mark.parametrize("address", PRIVATE_ADDRESSES)
def test_a_private_address_is_known_in_every_spelling(address: str) -> None:
    assert classify(address) == PRIVATE
    assert Policy(DENY, address, 80).refusal(address, 80, address)
    assert Policy(DIRECT, "example.org", 80).refusal("example.org", 80, address)
    assert Policy(ALLOW).refusal("example.org", 80, address) == ""


@pytest.mark.parametrize("address", PUBLIC_ADDRESSES)
def test_a_public_address_is_reached_under_every_policy(address: str) -> None:
    assert classify(address) == PUBLIC
    assert all(Policy(mode).refusal("example.org", 443, address) == "" for mode in (DIRECT, DENY, ALLOW))


@pytest.mark.requirement("fetch:direct")
def test_only_the_origin_that_the_caller_named_is_reached() -> None:
    policy = Policy(DIRECT, "localhost", 3000)
    assert policy.refusal("localhost", 3000, "127.0.0.1") == ""
    assert "private" in policy.refusal("localhost", 3001, "127.0.0.1")
    assert "private" in policy.refusal("127.0.0.1", 3000, "127.0.0.1")
    assert "metadata" in policy.refusal("localhost", 3000, "169.254.169.254")


def test_an_address_of_this_machine_is_private_although_the_world_may_reach_it() -> None:
    policy = Policy(DIRECT, "example.org", 80)
    assert policy.refusal("example.org", 80, "8.8.8.8", ours=True)
    assert Policy(ALLOW).refusal("example.org", 80, "8.8.8.8", ours=True) == ""


@pytest.mark.parametrize(
    "host", ["localhost", "a.localhost", "nas", "printer.local", "wiki.internal", "router.home.arpa", "10.1.2.3", "::1"]
)
def test_a_private_name_is_one_that_no_public_resolver_answers_for(host: str) -> None:
    assert names_private(host)


@pytest.mark.parametrize("host", ["example.org", "local.example.org", "localhost.example.org", "8.8.8.8", "2606::1"])
def test_a_public_name_names_nothing_private(host: str) -> None:
    assert not names_private(host)


def test_a_metadata_address_names_nothing_private_either() -> None:
    assert not names_private("169.254.169.254")


@pytest.mark.parametrize("port", [0, 21, 22, 25, 81, 1023, 3306, 5432, 6000, 6379, 6667, 11211])
def test_ports_of_other_services_are_refused(port: int) -> None:
    assert f"Port {port} " in port_refusal(port)


@pytest.mark.parametrize("port", [80, 443, 1024, 3000, 8000, 8080, 8443, 9200, 65535])
def test_ports_of_web_servers_are_served(port: int) -> None:
    assert port_refusal(port) == ""
