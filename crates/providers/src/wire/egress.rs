//! The one way out: whom a request may be sent to, and the only clients that send.
//!
//! An address of the operator is dialled as it is. An address that a tenant gave must be public, or on the
//! operator's list; what is checked is the address that is dialled, and once more the one that was connected to.
//! A resolver is told a name but no port, so each port that the list names ranges for has clients of its own.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::seams::{EgressPolicy, ProviderError, ProviderErrorKind};
use http::{HeaderValue, Method, header};
use url::{Host, Url};

use super::{
    WireRequest,
    allow::AllowList,
    guard::{Guard, Refused},
    tls::Tls,
    transport::{Sending, Transport, Unsent},
};
use crate::options::{EgressOptions, UpstreamOptions};

/// Why there is no way out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EgressError {
    /// An entry of a list cannot be read.
    #[error("`{key}` has the entry `{entry}`, which is neither `host:port` nor `cidr:port`")]
    Entry {
        /// The list.
        key: &'static str,
        /// The entry.
        entry: String,
    },
    /// A time is none.
    #[error("`{key}` is `{value}`, which is not a number of seconds above 0")]
    Seconds {
        /// Which time.
        key: &'static str,
        /// Its value.
        value: f64,
    },
    /// There is no TLS.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
}

/// All clients that there are.
pub(crate) struct Egress {
    operator: Transport,
    tenant: Tenant,
    documents: Tenant,
}

/// The clients for addresses that tenants give.
struct Tenant {
    allowed: AllowList,
    /// For names on the list: the operator vouches for them.
    vouched: Transport,
    public: Guarded,
    ports: HashMap<u16, Port>,
}

/// A port that ranges are listed for.
struct Port {
    /// Ranges alone: only what is listed may be spoken to without TLS.
    plain: Guarded,
    /// Ranges and public addresses.
    tls: Guarded,
}

struct Guarded {
    guard: Arc<Guard>,
    client: Transport,
}

/// An address that may be dialled, with the client to do it.
pub(crate) struct Passage {
    client: Transport,
    url: Url,
}

/// Why an address is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It may not be dialled.
    Refused,
    /// Its name cannot be looked up.
    Unknown,
}

impl Passage {
    /// Starts a request to the address followed by what the request adds to it.
    pub(super) fn post(self, request: &WireRequest) -> Sending {
        let url = request.address(self.url);
        self.client.request(Method::POST, url)
    }

    /// Starts a request for a token from that very address.
    pub(super) fn post_form(self, form: String) -> Sending {
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        self.client
            .request(Method::POST, self.url)
            .header(header::CONTENT_TYPE, kind)
            .body(form)
    }

    /// Starts a request for what is at the address followed by what the request adds to it.
    pub(super) fn get_at(self, request: &WireRequest) -> Sending {
        let url = request.address(self.url);
        self.client.request(Method::GET, url)
    }

    /// Starts a request for what is at that very address.
    pub(super) fn get(self) -> Sending {
        self.client.request(Method::GET, self.url)
    }
}

impl Egress {
    /// Reads the lists and builds the clients.
    pub(crate) fn new(
        options: &EgressOptions,
        upstream: &UpstreamOptions,
    ) -> Result<Self, EgressError> {
        let list = |key, entries| {
            AllowList::parse(entries).map_err(|entry| EgressError::Entry {
                key,
                entry: entry.to_owned(),
            })
        };
        let connect_timeout = seconds(
            "upstream.connect_timeout_seconds",
            upstream.connect_timeout_seconds,
        )?;
        seconds("upstream.timeout_seconds", upstream.timeout_seconds)?;
        let allowed = list("egress.allow", &options.allow)?;
        let documents = list("egress.allow_documents", &options.allow_documents)?;
        let clients = Clients {
            tls: Tls::new().map_err(EgressError::Tls)?,
            connect_timeout,
        };
        Ok(Self {
            operator: clients.client(None),
            tenant: Tenant::new(allowed, &clients),
            documents: Tenant::new(documents, &clients),
        })
    }

    /// Lets a request out to `api_base`, or refuses. A name is looked up when it is dialled.
    pub(crate) fn admit(
        &self,
        policy: EgressPolicy,
        api_base: &str,
    ) -> Result<Passage, ProviderError> {
        match policy {
            EgressPolicy::Operator => {
                let url = Url::parse(api_base).ok().filter(Url::has_host);
                let url = url.ok_or_else(|| {
                    let reason = "the model's `api_base` is not a URL";
                    ProviderError::new(ProviderErrorKind::Misconfigured, reason)
                })?;
                let client = self.operator.clone();
                Ok(Passage { client, url })
            }
            EgressPolicy::Tenant => {
                let url = parsed(api_base);
                let passage = url.as_ref().and_then(|url| self.tenant.admit(url, false));
                passage.ok_or_else(|| refusal(url.as_ref()))
            }
        }
    }

    /// Lets a request out to the address of a document, if it may be dialled. Nothing secret goes there, so that it may be
    /// public without TLS, on the usual port.
    pub(super) fn admit_document(&self, url: &str) -> Option<Passage> {
        let url = parsed(url)?;
        let is_plain = url.scheme() == "http" && url.port_or_known_default() == Some(80);
        self.documents.admit(&url, is_plain)
    }

    /// Checks an address that is only passed on, for a provider to fetch a document from.
    pub(super) async fn check_document(&self, url: &str) -> Result<(), Unfit> {
        let url = parsed(url).ok_or(Unfit::Refused)?;
        let port = url.port_or_known_default().ok_or(Unfit::Refused)?;
        let ranges = self.documents.allowed.ranges(port);
        let is_usual_port = matches!((url.scheme(), port), ("http", 80) | ("https", 443));
        let guard = Guard::new(ranges, is_usual_port);
        match url.host().ok_or(Unfit::Refused)? {
            Host::Domain(name) if self.documents.allowed.names(name, port) => Ok(()),
            Host::Domain(name) => match guard.look_up(name).await {
                Ok(_) => Ok(()),
                Err(error) if error.is::<Refused>() => Err(Unfit::Refused),
                Err(_) => Err(Unfit::Unknown),
            },
            Host::Ipv4(ip) => guard.check(ip.into()).map_err(|Refused| Unfit::Refused),
            Host::Ipv6(ip) => guard.check(ip.into()).map_err(|Refused| Unfit::Refused),
        }
    }
}

impl Tenant {
    fn new(allowed: AllowList, clients: &Clients) -> Self {
        let guarded = |ranges, public| {
            let guard = Arc::new(Guard::new(ranges, public));
            let client = clients.client(Some(&guard));
            Guarded { guard, client }
        };
        let mut ports = HashMap::new();
        for port in allowed.range_ports() {
            let ranges = allowed.ranges(port);
            let plain = guarded(ranges.clone(), false);
            let tls = guarded(ranges, true);
            ports.insert(port, Port { plain, tls });
        }
        Self {
            vouched: clients.client(None),
            public: guarded(Vec::new(), true),
            allowed,
            ports,
        }
    }

    /// The way to an address, `as_public` without TLS too; `None` if it may not be dialled, as far as that can be told
    /// without looking a name up.
    fn admit(&self, url: &Url, as_public: bool) -> Option<Passage> {
        let port = url.port_or_known_default()?;
        let host = url.host()?;
        let by = |client: &Transport| Passage {
            client: client.clone(),
            url: url.clone(),
        };
        if let Host::Domain(name) = host
            && self.allowed.names(name, port)
        {
            return Some(by(&self.vouched));
        }
        let guarded = match (url.scheme(), self.ports.get(&port)) {
            ("https", None) => &self.public,
            ("https", Some(on_port)) => &on_port.tls,
            ("http", None) if as_public => &self.public,
            ("http", Some(on_port)) if as_public => &on_port.tls,
            ("http", Some(on_port)) => &on_port.plain,
            _ => return None,
        };
        match host {
            Host::Domain(name) if is_loopback(name) => guarded.guard.check_loopback().ok()?,
            Host::Domain(_) => {}
            // Clients ask no resolver about literal addresses.
            Host::Ipv4(ip) => guarded.guard.check(ip.into()).ok()?,
            Host::Ipv6(ip) => guarded.guard.check(ip.into()).ok()?,
        }
        Some(by(&guarded.client))
    }
}

/// Whether a name stands for the machine itself, whoever is asked (RFC 6761, 6.3).
fn is_loopback(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

/// Reads a time out of the configuration.
pub(super) fn seconds(key: &'static str, value: f64) -> Result<Duration, EgressError> {
    let timeout = Duration::try_from_secs_f64(value).ok();
    let timeout = timeout.filter(|timeout| !timeout.is_zero());
    timeout.ok_or(EgressError::Seconds { key, value })
}

/// Reads an address that a tenant gave. The parser reduces every spelling of a number to an address.
fn parsed(url: &str) -> Option<Url> {
    let url = Url::parse(url).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    let is_web = matches!(url.scheme(), "https" | "http");
    (is_plain && is_web).then_some(url)
}

/// The refusal of an address. It says what was asked for, and nothing of what stands behind that.
pub(super) fn refusal(url: Option<&Url>) -> ProviderError {
    let place = url.and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
    let reason = match place {
        Some((host, port)) => format!(
            "the address `{host}:{port}` is not allowed: projects may reach public addresses by `https`, and what the \
             operator's `egress.allow` lists"
        ),
        None => {
            "the address is not allowed: it is no `https` or `http` URL of a host alone".to_owned()
        }
    };
    ProviderError::new(ProviderErrorKind::RefusedAddress, reason)
}

/// Whether a request failed because its address was refused on the way.
pub(super) fn was_refused(error: &Unsent) -> bool {
    super::causes(error).any(<dyn std::error::Error>::is::<Refused>)
}

/// How clients are made.
struct Clients {
    tls: Tls,
    connect_timeout: Duration,
}

impl Clients {
    /// A client that is held to a guard, if there is one.
    fn client(&self, guard: Option<&Arc<Guard>>) -> Transport {
        Transport::new(&self.tls, self.connect_timeout, guard.cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::upstream_options;

    #[test]
    fn documents_may_be_public_without_tls_on_the_usual_port_alone() {
        let options = EgressOptions {
            allow: Vec::new(),
            allow_documents: vec!["10.0.0.0/8:80".to_owned()],
        };
        let egress = Egress::new(&options, &upstream_options()).unwrap();

        for (url, is_admitted) in [
            ("http://8.8.8.8/a.pdf", true),
            ("http://8.8.8.8:80/a.pdf", true),
            ("http://10.1.2.3/a.pdf", true),
            ("https://8.8.8.8/a.pdf", true),
            ("http://8.8.8.8:8080/a.pdf", false),
            ("http://8.8.8.8:443/a.pdf", false),
            ("http://192.168.1.1/a.pdf", false),
            ("http://localhost/a.pdf", false),
            ("http://169.254.169.254/a.pdf", false),
        ] {
            assert_eq!(egress.admit_document(url).is_some(), is_admitted, "{url}");
        }
        assert!(
            egress
                .admit(EgressPolicy::Tenant, "http://8.8.8.8/v1")
                .is_err()
        );
    }
}
