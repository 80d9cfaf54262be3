//! A client for servers on this machine: HTTP/1.1 without encryption, proxies and redirects.
//!
//! A model on this machine often answers in less time than a client for the whole web takes to ask it. A call drives its
//! own connection here, so that no other task has to be woken for it, and nothing is worked out twice.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::http::response::Parts;
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use reqwest::Url;
use tokio::net::TcpStream;

use crate::http::Fault;
use crate::providers::AGENT;

/// Keeps connections open for the next call.
pub(crate) struct Client {
    connect: Duration,
    most_idle: usize,
    idle: Mutex<BTreeMap<String, Vec<Link>>>,
}

/// Where a request goes.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    host: String,
    port: u16,
    /// Both, as the `Host` header has them.
    authority: String,
    header: HeaderValue,
    path: Uri,
}

impl Address {
    /// The address of this URL, if it is one without encryption.
    pub(crate) fn of(url: &Url) -> Option<Self> {
        if url.scheme() != "http" || !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        let host = url.host_str()?;
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        Some(Self {
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: url.port_or_known_default()?,
            header: HeaderValue::from_str(&authority).ok()?,
            authority,
            path: format!("{}{query}", url.path()).parse().ok()?,
        })
    }
}

type Connection = http1::Connection<TokioIo<TcpStream>, Full<Bytes>>;

/// A connection, which goes on only while somebody drives it.
struct Link {
    sender: SendRequest<Full<Bytes>>,
    /// Nothing once it is closed.
    connection: Option<Pin<Box<Connection>>>,
}

/// Does what is waited for, and meanwhile what the connection has to do for that.
async fn driven<T>(
    connection: &mut Option<Pin<Box<Connection>>>,
    mut work: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> T {
    poll_fn(|context| {
        if let Poll::Ready(done) = work(context) {
            return Poll::Ready(done);
        }
        if let Some(open) = connection
            && open.as_mut().poll(context).is_ready()
        {
            // Whoever waits for it is told why it closed.
            *connection = None;
        }
        work(context)
    })
    .await
}

impl Link {
    async fn open(address: &Address, within: Duration) -> Result<Self, Fault> {
        let connecting = TcpStream::connect((address.host.as_str(), address.port));
        let stream = match tokio::time::timeout(within, connecting).await {
            Err(_) => return Err(Fault::ConnectTimeout),
            Ok(Err(error)) => return Err(Fault::Unreached(format!("it cannot be connected to: {error}"))),
            Ok(Ok(stream)) => stream,
        };
        stream.set_nodelay(true).map_err(|error| transport(&error))?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| transport(&error))?;
        Ok(Self { sender, connection: Some(Box::pin(connection)) })
    }

    /// Whether it can be used again: the server may have closed it meanwhile.
    async fn is_open(&mut self) -> bool {
        let Some(connection) = &mut self.connection else { return false };
        let over = poll_fn(|context| Poll::Ready(connection.as_mut().poll(context).is_ready())).await;
        !over && self.is_ready().await
    }

    async fn is_ready(&mut self) -> bool {
        let Self { sender, connection } = self;
        driven(connection, |context| sender.poll_ready(context)).await.is_ok()
    }
}

/// What came of sending a request.
enum Sent {
    Answered(Response<Incoming>),
    /// Nothing of it was sent.
    Unsent(Request<Full<Bytes>>),
}

impl Client {
    pub(crate) fn new(connect: Duration, most_idle: usize) -> Arc<Self> {
        Arc::new(Self { connect, most_idle, idle: Mutex::default() })
    }

    fn idle(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Link>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, address: &Address) -> Option<Link> {
        self.idle().get_mut(&address.authority)?.pop()
    }

    fn keep(&self, authority: &str, link: Link) {
        let mut idle = self.idle();
        match idle.get_mut(authority) {
            Some(links) if links.len() >= self.most_idle => {}
            Some(links) => links.push(link),
            None => drop(idle.insert(authority.to_owned(), vec![link])),
        }
    }

    /// Sends a request, and gives the reply when its head is there.
    pub(crate) async fn post(
        self: &Arc<Self>,
        address: &Address,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Reply, Fault> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = address.path.clone();
        *request.headers_mut() = headers;
        request.headers_mut().insert(HOST, address.header.clone());
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
        loop {
            let used = self.take(address);
            let is_used = used.is_some();
            let mut link = match used {
                Some(mut link) => {
                    if !link.is_open().await {
                        continue;
                    }
                    link
                }
                None => Link::open(address, self.connect).await?,
            };
            match send(&mut link, request).await? {
                Sent::Answered(response) => {
                    let (head, body) = response.into_parts();
                    let (client, authority) = (self.clone(), address.authority.clone());
                    return Ok(Reply { head, body, link: Some(link), client, authority });
                }
                // It was closed between two calls, which is nobody's fault.
                Sent::Unsent(unsent) if is_used => request = unsent,
                Sent::Unsent(_) => {
                    return Err(Fault::Transport(
                        "the connection closed before anything was sent".to_owned(),
                    ));
                }
            }
        }
    }
}

async fn send(link: &mut Link, request: Request<Full<Bytes>>) -> Result<Sent, Fault> {
    if !link.is_ready().await {
        return Ok(Sent::Unsent(request));
    }
    let mut answer = pin!(link.sender.try_send_request(request));
    match driven(&mut link.connection, |context| answer.as_mut().poll(context)).await {
        Ok(response) => Ok(Sent::Answered(response)),
        Err(mut error) => match error.take_message() {
            Some(unsent) => Ok(Sent::Unsent(unsent)),
            None => Err(transport(error.error())),
        },
    }
}

/// A reply whose body is still to be read.
pub(crate) struct Reply {
    head: Parts,
    body: Incoming,
    /// Given back when the body is read whole.
    link: Option<Link>,
    client: Arc<Client>,
    authority: String,
}

impl Reply {
    pub(crate) fn status(&self) -> u16 {
        self.head.status.as_u16()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// How long its body is, where it says so.
    pub(crate) fn length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// The next piece of its body; nothing after the last.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            if self.body.is_end_stream() {
                self.give_back();
                return Ok(None);
            }
            let Some(link) = &mut self.link else { return Ok(None) };
            let body = &mut self.body;
            let frame =
                driven(&mut link.connection, |context| Pin::new(&mut *body).poll_frame(context)).await;
            match frame {
                None => {
                    self.give_back();
                    return Ok(None);
                }
                Some(Err(error)) => return Err(transport(&error)),
                // What comes behind the body says nothing that is asked here.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    fn give_back(&mut self) {
        if let Some(link) = self.link.take().filter(|link| link.connection.is_some()) {
            self.client.keep(&self.authority, link);
        }
    }
}

/// What went wrong, with all its causes.
fn transport(error: &dyn Error) -> Fault {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !why.ends_with(&text) {
            why.push_str(": ");
            why.push_str(&text);
        }
        cause = error.source();
    }
    Fault::Transport(why)
}
