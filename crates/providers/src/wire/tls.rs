//! TLS for all clients: the machine's certificate authorities are read once, and shared.

use std::sync::{Arc, Once};

use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::{CryptoProvider, aws_lc_rs},
};
use rustls_platform_verifier::Verifier;

static WARNED: Once = Once::new();

/// What clients are made with.
pub(super) struct Tls(ClientConfig);

impl Tls {
    /// Trusts whom the machine trusts.
    pub(super) fn new() -> Result<Self, rustls::Error> {
        let default = CryptoProvider::get_default().cloned();
        let provider = default.unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()));
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = match Verifier::new(provider) {
            Ok(verifier) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier)),
            // A machine without certificates can still use what needs none; TLS then fails, one request at a time.
            Err(error) => {
                WARNED.call_once(|| {
                    tracing::warn!(
                        error = %super::innermost(&error),
                        "no certificate authorities can be read: no host can be reached by https"
                    );
                });
                builder.with_root_certificates(RootCertStore::empty())
            }
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(config))
    }

    /// The configuration of one client. No client goes on with a session of another's.
    pub(super) fn of_client(&self) -> ClientConfig {
        let mut config = self.0.clone();
        config.resumption = Resumption::default();
        config
    }
}
