//! The official Rust SDK with its handlers written out: nothing but what every server of it pays.
//! Serves the tools of the JSON file it is given; every call adds two numbers.

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt, transport::stdio};

struct Rival {
    tools: Vec<Tool>,
}

impl ServerHandler for Rival {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let number = |name: &str| request.arguments.as_ref().and_then(|all| all.get(name)?.as_i64());
        let (Some(a), Some(b)) = (number("a"), number("b")) else {
            return Err(ErrorData::invalid_params("a and b are numbers", None));
        };
        let text = format!("{a} + {b} = {}", a + b);
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: rival TOOLS_FILE")?;
    let tools = serde_json::from_slice(&std::fs::read(path)?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        Rival { tools }.serve(stdio()).await?.waiting().await?;
        Ok(())
    })
}
