//! Which addresses are globally routable unicast, and so may be dialled for anybody.
//!
//! Address arithmetic only: names, ports and the operator's list are `egress`'s.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};

use ipnet::{Ipv4Net, Ipv6Net};

/// What is not for everybody among IPv4 addresses (the registry of special-purpose addresses), and the address at
/// which Azure's machines find their metadata, which looks public.
const REFUSED_V4: [&str; 17] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
];

/// What is refused inside of `2000::/3`; everything outside of that is refused too.
const REFUSED_V6: [&str; 4] = [
    "2001::/23",
    "2001:db8::/32",
    "2620:4f:8000::/48",
    "3fff::/20",
];

static TABLE_V4: LazyLock<Vec<Ipv4Net>> = LazyLock::new(|| parsed(&REFUSED_V4));
static TABLE_V6: LazyLock<Vec<Ipv6Net>> = LazyLock::new(|| parsed(&REFUSED_V6));
static GLOBAL_V6: LazyLock<Vec<Ipv6Net>> = LazyLock::new(|| parsed(&["2000::/3"]));
static TEREDO: LazyLock<Vec<Ipv6Net>> = LazyLock::new(|| parsed(&["2001::/32"]));
static SIX_TO_FOUR: LazyLock<Vec<Ipv6Net>> = LazyLock::new(|| parsed(&["2002::/16"]));
static NAT64: LazyLock<Vec<Ipv6Net>> = LazyLock::new(|| parsed(&["64:ff9b::/96"]));

fn parsed<N: std::str::FromStr<Err: std::fmt::Debug>>(table: &[&str]) -> Vec<N> {
    let parse = |text: &&str| text.parse().expect("the table holds prefixes");
    table.iter().map(parse).collect()
}

/// Takes an IPv4 address out of its IPv6 form (`::ffff:a.b.c.d`): both dial the same host.
pub(super) fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// Whether an address is globally routable unicast, with every IPv4 address that it carries inside.
pub(super) fn is_public(address: IpAddr) -> bool {
    match canonical(address) {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !TABLE_V4.iter().any(|net| net.contains(&address))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let within = |table: &[Ipv6Net]| table.iter().any(|net| net.contains(&address));
    let part = address.segments();
    let last = joined(part[6], part[7]);
    if within(&NAT64) {
        return is_public_v4(last);
    }
    if within(&TEREDO) {
        let client = Ipv4Addr::from(!u32::from(last));
        return is_public_v4(joined(part[2], part[3])) && is_public_v4(client);
    }
    if within(&SIX_TO_FOUR) && !is_public_v4(joined(part[1], part[2])) {
        return false;
    }
    // ISATAP: the last half is 0000:5efe or 0200:5efe, then an IPv4 address.
    if part[5] == 0x5efe && part[4] & !0x0200 == 0 && !is_public_v4(last) {
        return false;
    }
    within(&GLOBAL_V6) && !within(&TABLE_V6)
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(addresses: &[&str]) -> (Vec<String>, Vec<String>) {
        addresses
            .iter()
            .map(|text| (*text).to_owned())
            .partition(|text| is_public(text.parse().unwrap()))
    }

    #[test]
    fn public_addresses_are_public() {
        let (_, refused) = sorted(&[
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001:80b::200e",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
            "2001:0:808:808:0:0:f7f7:f7f7",
            "2606:4700::5efe:8.8.8.8",
        ]);

        assert_eq!(refused, Vec::<String>::new());
    }

    #[test]
    fn all_other_addresses_are_not() {
        let (public, _) = sorted(&[
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:0:127.0.0.1",
            "::127.0.0.1",
            "::8.8.8.8",
            "64:ff9b::10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::10.0.0.1",
            "64:ff9b:1:a00:0:100::",
            "100::1",
            "2001::1",
            "2001:0:808:808:0:0:80ff:fffe",
            "2001:0:a00:1:0:0:f7f7:f7f7",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:a00:1::",
            "2002:a9fe:a9fe::",
            "2606:4700::5efe:10.0.0.1",
            "2606:4700::200:5efe:127.0.0.1",
            "fe80::5efe:8.8.8.8",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ]);

        assert_eq!(public, Vec::<String>::new());
    }
}
